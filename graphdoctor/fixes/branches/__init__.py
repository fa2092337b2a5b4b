"""Rewrites of control flow: conditions, asserts, loops.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis`` and ``fixes.proof``.
"""
