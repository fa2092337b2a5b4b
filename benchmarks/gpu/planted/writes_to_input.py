"""An input that is written to, which CUDA graphs are skipped for."""

import torch
from torch import nn


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        x.add_(1)
        return self.linear(x)


def graphdoctor_target():
    return Writes(), (torch.randn(8, 64),)
