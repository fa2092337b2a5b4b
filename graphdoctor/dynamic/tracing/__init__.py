"""What TorchDynamo records while code is compiled. Private names of torch are all in ``private_torch``.

May import torch, ``model``, ``breaks``, ``syntax``, ``recorder`` and ``dynamic.user_code``.
"""
