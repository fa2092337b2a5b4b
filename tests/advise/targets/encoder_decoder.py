"""An encoder and a decoder with a break between them: where to compile is worth a question."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(8, 4), nn.Tanh())

    def forward(self, x):
        x = self.encoder(x)
        if x.sum() > 0:
            x = x + 1
        return self.decoder(x)


def trainer():
    # Not at the top of the file: it takes longer to import than all the rest to run.
    import lightning

    return lightning.Trainer(accelerator="cpu")


def graphdoctor_target():
    return Net(), (torch.ones(4, 8),)


def graphdoctor_variants():
    return [(torch.ones(size, 8),) for size in (4, 5, 6)]


def graphdoctor_loss(outputs):
    return outputs.square().mean()
