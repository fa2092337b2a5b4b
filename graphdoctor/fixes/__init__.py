"""Rewrites of code that breaks graphs, the proof that they change nothing, and their verification by runs.

May import ``model``, ``source``, ``syntax`` and the values and events of ``static``.
"""
