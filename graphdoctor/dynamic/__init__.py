"""The dynamic pass: the sample is run under TorchDynamo, in a process of its own.

``parent`` and what it imports never import torch.
"""
