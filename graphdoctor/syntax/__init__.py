"""Python source as libcst's nodes: parsed fast from ``ast``, or as written for edits. One door to the parser.

May import ``model`` and ``source``.
"""
