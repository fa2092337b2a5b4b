"""Proofs that a rewrite changes nothing in eager, whatever the inputs: values, dtypes, shapes, gradients, aliasing.

What is proved here may be called safe. Knows no single rewrite.
May import ``syntax``, ``static``, ``fixes.core`` and ``fixes.analysis``.
"""
