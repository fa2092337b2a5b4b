"""Rewrites of loops that data skips, leaves or goes on with.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis``, ``fixes.proof`` and
``fixes.branches``.
"""
