"""Sizes that vary, for which each CUDA graph would be recorded anew."""

import torch
from torch import nn


class Vary(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return torch.nonzero(self.linear(x) > 0).sum()


def graphdoctor_target():
    return Vary(), (torch.randn(8, 64),)
