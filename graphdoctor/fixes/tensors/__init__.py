"""Rewrites of tensor code: conversions, copies, masks, sorting, random numbers.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis`` and ``fixes.branches``.
"""
