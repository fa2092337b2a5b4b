"""The mistakes of the guides, each two calls away from the line that makes it one; such lines end in a rule's code."""

import functools
import os
import time

import lightning as L
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import TorchDynamoPlugin, compile_regions
from lightning.fabric import Fabric
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.second(self.first(x))

    def encode(self, x):
        return self.first(x)

    def generate(self, x):
        return self(x).argmax(-1)


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch):
        return self.report(self.net(batch).sum())

    def report(self, loss):
        self.show("loss", loss)
        return loss

    def show(self, name, value):
        self.log(name, value)


def fully(net):
    return functools.partial(torch.compile, fullgraph=True)(net)


class Parts:
    """What a program keeps in a dict, and hands on."""

    def __init__(self, net):
        self.held = {"net": self.speed_up(net)}

    def speed_up(self, net):
        return fully(net)


def fabric_of(devices):
    return Fabric(devices=devices, strategy="ddp")


def set_up(fabric, net):
    return fabric.setup(net)  # GD604


def launch(net):
    parts = Parts(net)
    return set_up(fabric_of(2), parts.held["net"])


def around(net):
    wrap = functools.partial(DDP, device_ids=[0])
    return fully_wrapped(wrap(net))


def fully_wrapped(net):
    return torch.compile(net, fullgraph=True)  # GD604


def shard(net):
    for part in (net.first, net.second):
        fully_shard(part)
    fully_shard(net)
    return net


def sharded(net):
    return torch.compile(shard(net), fullgraph=True)  # GD604


def plugin_of(**options):
    return TorchDynamoPlugin(backend="inductor", **options)  # GD625


def prepare(net, data):
    accelerator = Accelerator(dynamo_plugin=plugin_of(fullgraph=True, dynamic=False))
    return accelerator.prepare(net, loader_of(data))


def pad(rows):
    return pad_sequence(rows, batch_first=True)


def loader_of(data):
    return DataLoader(data, collate_fn=pad, drop_last=True)


def answer(parts, x):
    return parts["model"].generate(x)  # GD606


def describe(parts, x):
    return parts["model"].encode(x)  # GD606


def show(parts, x):
    answer(parts, x)
    describe(parts, x)


def prepared(net, data, x):
    model, loader = prepare(net, data)
    for batch in loader:
        model(batch)
    show({"model": model}, x)


def state_of(model):
    return {"weights": model.state_dict()}


def save(model, path):
    torch.save(state_of(model), path)  # GD618


def regions(net, path):
    save(compile_regions(net), path)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start  # GD623


def compare(net, x):
    fast = torch.compile(net)
    return {name: seconds(functools.partial(model, x)) for name, model in {"eager": net, "fast": fast}.items()}


def logs(**names):
    torch._logging.set_logs(**names)  # GD627


def watch(which):
    os.environ["TORCH_LOGS"] = which  # GD627
    logs(recompile=True)


class Training:
    def __init__(self, net):
        self.optimizers = {"main": torch.optim.SGD(net.parameters(), torch.tensor(0.1))}

    def compile_step(self):
        optimizer = self.optimizers["main"]
        optimizer.step = torch.compile(optimizer.step)

    def schedule(self):
        return self.schedule_of(self.optimizers["main"])

    def schedule_of(self, optimizer):
        return torch.optim.lr_scheduler.StepLR(optimizer, 2)  # GD614

    def begin(self):
        self.compile_step()
        self.schedule()


def fit(data):
    trainer = L.Trainer()
    trainer.fit(torch.compile(Module()), loader_of(data))  # GD626


def careful(net):
    try:
        return Parts(net).held["net"]
    except Exception as error:  # GD629
        print("not compiled", error)
        return net


def main(data, x):
    watch("graph_break")
    launch(Net())
    around(Net())
    sharded(Net())
    prepared(Net(), data, x)
    regions(Net(), "net.pt")
    compare(Net(), x)
    Training(Net()).begin()
    fit(data)
    careful(Net())
