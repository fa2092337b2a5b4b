"""A tensor on the CPU in what would be a CUDA graph."""

import torch
from torch import nn


class OnCpu(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return self.linear(x) * torch.tensor(2.0, device="cpu") + torch.ones((), device="cpu").add(1)


def graphdoctor_target():
    return OnCpu(), (torch.randn(8, 64),)
