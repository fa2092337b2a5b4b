"""A server for coding assistants, over the Model Context Protocol.

May import ``changes``, ``report``, ``lint``, ``breaks`` and ``model``.
"""
