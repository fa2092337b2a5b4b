"""A size that depends on data, at which CUDA graphs are split."""

import torch
from torch import nn

torch._dynamo.config.capture_dynamic_output_shape_ops = True


class Vary(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return torch.nonzero(self.linear(x) > 0).sum()


def graphdoctor_target():
    return Vary(), (torch.randn(8, 64),)
