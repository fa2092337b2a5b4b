"""Fixes verified by runs: original against rewritten code, on the sample and on perturbed inputs.

May import ``model``, ``syntax`` and ``fixes.core``.
"""
