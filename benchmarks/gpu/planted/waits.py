"""A step that reads a number from the GPU, so that the program waits for it."""

import torch
from torch import nn


class Waits(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        x = self.linear(x)
        return x / x.abs().max().item()


def graphdoctor_target():
    return Waits(), (torch.randn(8, 64),)
