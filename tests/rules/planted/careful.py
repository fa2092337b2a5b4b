"""Nothing here is a mistake, but for a learning rate that is a number."""

import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        return self.l(x)

    def configure_optimizers(self, lr):
        return torch.optim.AdamW(self.parameters(), lr=lr)

    @torch.no_grad()
    def num_params(self):
        return sum(p.numel() for p in self.parameters())


def warm(model, x, n=3):
    for _ in range(n):
        model(x)


def bench(model, x, warmup=3, rounds=10):
    for _ in range(warmup):
        model(x)
    t = time.perf_counter()
    for _ in range(rounds):
        model(x)
    return time.perf_counter() - t


class Trainer:
    def __init__(self, model, device, use_compile=True):
        self.device = device
        self.model = model.to(device)
        self.optimizer = model.configure_optimizers(1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 3)
        if use_compile:
            self.model = torch.compile(self.model)
            self.optimizer.step = torch.compile(self.optimizer.step)  # GD615

    def fit(self, loader):
        for x in loader:
            loss = self.model(x.to(self.device)).sum()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
        self.model.eval()
        self.model.train()
        self.model.to(self.device)

    def save(self, path):
        model = self.model._orig_mod if hasattr(self.model, "_orig_mod") else self.model
        torch.save({"m": model.state_dict()}, path)


def main():
    net = Net()
    fast = torch.compile(net)
    x = torch.rand(2, 4)
    print(bench(net, x), bench(fast, x))
    t = Trainer(net, "cpu")
    t.fit(DataLoader([1]))
    t.save("x")
    print(t.model.num_params())


main()
