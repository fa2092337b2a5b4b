"""Whether two runs agree: outputs, state, gradients, on the sample and on perturbed inputs.

May import torch, ``model``, ``breaks``, ``dynamic.tracing`` and ``dynamic.user_code``.
"""
