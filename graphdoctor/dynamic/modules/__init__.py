"""Submodules: the compiled share of each, and which compile alone.

May import torch, ``model``, ``breaks``, ``dynamic.numerics``, ``dynamic.tracing`` and ``dynamic.user_code``.
"""
