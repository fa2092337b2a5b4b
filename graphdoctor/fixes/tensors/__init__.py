"""Rewrites of tensor code: conversions, masks, indices, numbers that are read.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis``, ``fixes.proof``,
``fixes.branches`` and ``fixes.loops``.
"""
