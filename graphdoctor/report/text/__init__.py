"""The report for terminals.

May import ``report``, ``diagnosis``, ``breaks`` and ``model``.
"""
