"""Operators on abstract values: arithmetic, and comparisons.

May import ``syntax``, ``static.domain``, ``static.interp`` and ``static.library_models``.
"""
