"""A trainer on Accelerate, with helpers; lines that a rule reports end in its code."""

import time

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import compile_regions


class Captioner(nn.Module):
    def __init__(self, enc, dec):
        super().__init__()
        self.encoder, self.decoder = enc, dec

    def forward(self, x, y):
        return self.decoder(self.encoder(x), y)

    def encode(self, x):
        return self.encoder(x)

    def generate(self, x):
        out = [1]
        while len(out) < 10:
            out.append(self(x, torch.tensor(out)).argmax())
        return out


def measure(fn, *args):
    t0 = time.time()
    fn(*args)
    torch.cuda.synchronize()
    t1 = time.time()
    return t1 - t0  # GD623


def speedup(model, x, y):
    compiled = torch.compile(model)
    base = measure(model, x, y)
    fast = measure(compiled, x, y)
    print(f"speedup {base / fast}")


class Engine:
    def __init__(self, cfg):
        self.cfg = cfg
        self.accelerator = Accelerator(dynamo_backend="inductor")
        self.model = Captioner(nn.Linear(3, 3), nn.Linear(3, 3))
        self.opt = torch.optim.Adam(self.model.parameters())
        self.prepare()

    def prepare(self):
        self.model, self.opt = self.accelerator.prepare(self.model, self.opt)

    def sample(self, x):
        return self.model.generate(x)  # GD606

    def save(self, path):
        torch.save(self.model.state_dict(), path)  # GD618


def opt_step(opt):
    opt.step = torch.compile(opt.step, fullgraph=True)  # GD616


def sched(opt, kind="cosine"):
    if kind == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)  # GD614
    return None


def main(x, y):
    model = Captioner(nn.Linear(3, 3), nn.Linear(3, 3)).to("cuda")
    opt = torch.optim.SGD(model.parameters(), 0.1)
    opt_step(opt)
    sched(opt)
    speedup(model, x, y)
    net = compile_regions(model)
    torch.save({"state": net.state_dict()}, "x.pt")  # GD618
