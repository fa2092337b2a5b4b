"""The JSON contract: written and read back.

May import ``report`` and ``model``.
"""
