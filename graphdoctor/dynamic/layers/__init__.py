"""The layers of torch's compiler, one after the other: which fails, and a script that shows it.

May import torch, ``model``, ``breaks``, ``dynamic.numerics``, ``dynamic.tracing`` and ``dynamic.user_code``.
"""
