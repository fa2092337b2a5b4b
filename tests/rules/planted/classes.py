"""Classes, registries and threads; lines that a rule reports end in its code."""

import threading

import torch
import torch._dynamo
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.c(x)

    def features(self, x):
        return self.c(x).mean((2, 3))


class Base:
    compile_mode = "max_autotune"

    def __init__(self, opts):
        self.opts = opts
        self.net = self.build()

    def build(self):
        raise NotImplementedError

    def wrap(self, net, **kw):
        return torch.compile(net, **kw)  # GD610

    def run(self):
        return self.net.features(torch.rand(1, 3, 8, 8))  # GD606


class Impl(Base):
    def build(self):
        return self.wrap(Enc(), mode="max_autotune")


def setup(model, opts):
    kwargs = {"fullgraph": True}
    if opts.backend:
        kwargs["backend"] = opts.backend
    return torch.compile(DistributedDataParallel(model), **kwargs)  # GD604


def enable_logs():
    torch._logging.set_logs(recompile=True)  # GD627


def twice(model):
    return torch.compile(torch.compile(model))  # GD603


def helper_compile(model):
    return torch.compile(model)  # GD603


def export(model, x):
    torch.jit.trace(model.eval(), x).save("net.pt")  # GD634


def main(opts, batches):
    enable_logs()
    Impl(opts).run()
    setup(Enc(), opts)
    m = helper_compile(Enc())
    m = helper_compile(m)
    for b in batches:
        m(b)
    registry = {"enc": m}
    threading.Thread(target=lambda: registry["enc"].features(batches)).start()  # GD606
    torch._dynamo.config.cache_size_limitt = 3  # GD611
    torch.compiler.set_stance("fail_on_recompiles")  # GD621
    layers = nn.ModuleList([nn.Linear(2, 2)])
    for i in range(1):
        layers[i] = helper_compile(layers[i])  # GD617
    torch.compile(layers)  # GD601
    encoder = helper_compile(Enc())
    if opts.check and isinstance(encoder, Enc):  # GD634
        encoder.eval()
    export(encoder, batches)


main(None, [])
