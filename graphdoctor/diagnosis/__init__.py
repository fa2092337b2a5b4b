"""From findings and runs to one verdict: joined, ranked, compared, gated. Pure.

May import ``model``, ``source``, ``breaks``, ``fixes.core`` and ``syntax``.
"""
