"""Rewrites of loops over the rows that masks select, such as mixtures of experts: a fixed number of rows in each round.

May import ``model``, ``syntax``, ``static``, ``fixes.core``, ``fixes.analysis``, ``fixes.proof``,
``fixes.branches`` and ``fixes.tensors``.
"""
