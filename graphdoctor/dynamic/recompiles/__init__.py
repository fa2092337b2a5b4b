"""Recompiles: which calls to make, why frames were compiled again, and what saves compilations.

May import torch, ``model``, ``breaks``, ``dynamic.numerics``, ``dynamic.parent``, ``dynamic.tracing`` and
``dynamic.user_code``.
"""
