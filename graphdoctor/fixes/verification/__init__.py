"""Fixes verified by runs: original against rewritten code, on the sample and on perturbed inputs.

May import ``breaks``, ``model``, ``syntax`` and ``fixes.core``.
"""
