"""The report for terminals.

May import ``report``, ``diagnosis`` and ``model``.
"""
