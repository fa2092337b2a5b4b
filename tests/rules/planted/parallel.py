"""Fabric, DDP and sharding as they should be."""

import time

import torch
from lightning.fabric import Fabric
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


def build(cfg):
    model = cfg.model()
    if cfg.compile:
        model = torch.compile(model, fullgraph=True)
    if cfg.ddp:
        model = DDP(model)
    return model


def parallel(model, cfg):
    for block in model.layers:
        block.compile(fullgraph=True)
    for block in model.layers:
        fully_shard(block)
    fully_shard(model)
    return model


def train(cfg, loader):
    fabric = Fabric(devices=cfg.devices)
    model = build(cfg)
    model, opt = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    start = None
    for i, (x, _y) in enumerate(loader):
        if i == 10:
            start = time.time()
        loss = model(x).sum()
        fabric.backward(loss)
        opt.step()
    print(time.time() - start)
    raw = model.module if cfg.ddp else model
    raw.eval()
    return raw


def gen(cfg, ids):
    model = build(cfg)
    model.forward = torch.compile(model.forward, mode="reduce-overhead")
    return model.generate(ids)


def two(net, x):
    eager = net
    net = torch.compile(net)
    out = net(x)
    out = out.float()
    return eager.generate(x), out
