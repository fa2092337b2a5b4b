"""What TorchDynamo records while code is compiled: breaks, graphs, recompiles. Its private names are read here.

May import torch, ``model``, ``breaks``, ``syntax`` and ``dynamic.user_code``.
"""
