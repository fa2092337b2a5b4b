"""An image captioning model as guides write it, with mistakes in helpers. Lines that a rule reports end in its code."""

import argparse
import functools
import os
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader

os.environ.setdefault("TORCH_LOGS", "graph_break")  # GD627


@dataclass
class Config:
    vocabulary: int = 1000
    width: int = 256
    compile_mode: str = "default"


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convolutions = nn.Sequential(nn.Conv2d(3, width, 4, stride=4), nn.ReLU())

    def forward(self, images):
        return self.convolutions(images).flatten(2).transpose(1, 2)


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(config.vocabulary, config.width)
        layer = nn.TransformerDecoderLayer(config.width, 4, batch_first=True)
        self.layers = nn.TransformerDecoder(layer, 2)
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens, memory):
        return self.head(self.layers(self.embed(tokens), memory))


class Captioner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = Encoder(config.width)
        self.decoder = Decoder(config)

    def forward(self, images, tokens):
        return self.decoder(tokens, self.encoder(images))

    def encode(self, images):
        return self.encoder(images)

    @torch.no_grad()
    def caption(self, images, length):
        tokens = torch.ones(len(images), 1, dtype=torch.long)
        for _ in range(length):
            logits = self(images, tokens)
            tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], dim=1)
        return tokens


def collate(rows):
    images, captions = zip(*rows, strict=True)
    return torch.stack(images), pad_sequence(captions, batch_first=True)


def make_loader(data, size):
    return DataLoader(data, batch_size=size, collate_fn=functools.partial(collate), drop_last=True)


def compile_model(model, **options):
    return torch.compile(model, **options)  # GD625


def optimize(model, fast=True):
    if fast:
        model = compile_model(model, dynamic=False)
    return model


def checkpoint(model, epoch):
    return {"model": model.state_dict(), "epoch": epoch}


def save(model, path, epoch):
    state = checkpoint(model, epoch)
    torch.save(state, path)  # GD618


def benchmark(model, images, tokens, rounds=10):
    start = time.perf_counter()
    for _ in range(rounds):
        model(images, tokens)
    return (time.perf_counter() - start) / rounds  # GD623


def compare(config, images, tokens):
    eager = Captioner(config)
    models = {"eager": eager, "compiled": torch.compile(eager)}
    for name, model in models.items():
        print(name, benchmark(model, images, tokens))


def show(model, images):
    return model.caption(images, 20)  # GD606


def features(model, images):
    return model.encode(images)  # GD606


def evaluate(model, loader):
    for images, _ in loader:
        show(model, images)
        features(model, images)


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        self.scaler = torch.amp.GradScaler("cuda")
        self.loss = nn.CrossEntropyLoss()

    def compile_step(self):
        self.optimizer.step = torch.compile(self.optimizer.step)

    def setup(self, steps):
        self.compile_step()
        self.scheduler = self.make_scheduler(steps)

    def make_scheduler(self, steps):
        return CosineAnnealingLR(self.optimizer, steps)  # GD614

    def train(self, loader):
        for images, tokens in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                logits = self.model(images, tokens[:, :-1])
                loss = self.loss(logits.flatten(0, 1), tokens[:, 1:].flatten())
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.scheduler.step()

    def to_half(self):
        self.model.half()  # GD607


def wrap(model, rank):
    return DDP(model.to(rank), device_ids=[rank])


def worker(rank, config, data):
    model = wrap(Captioner(config), rank)
    model = torch.compile(model, fullgraph=True)  # GD604
    for images, tokens in make_loader(data, 8):
        model(images, tokens)


def spawn(config, data):
    torch.multiprocessing.spawn(worker, args=(config, data), nprocs=2)


def accelerated(config, data):
    from accelerate import Accelerator
    from accelerate.utils import TorchDynamoPlugin, compile_regions

    plugin = TorchDynamoPlugin(backend="inductor", fullgraph=True, dynamic=False)  # GD625
    accelerator = Accelerator(mixed_precision="fp16", dynamo_plugin=plugin)
    model, loader = accelerator.prepare(Captioner(config), make_loader(data, 8))
    evaluate(model, loader)
    regional = compile_regions(Captioner(config))
    save(regional, "regional.pt", 0)


def main(data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    config = Config()
    loader = make_loader(data, 8)
    model = optimize(Captioner(config))
    trainer = Trainer(model, 1e-4)
    trainer.setup(1000)
    trainer.train(loader)
    trainer.to_half()
    evaluate(trainer.model, loader)
    save(trainer.model, "model.pt", 1)
    if args.compile:
        spawn(config, data)
    compare(config, torch.rand(2, 3, 32, 32), torch.ones(2, 8, dtype=torch.long))
    accelerated(config, data)
