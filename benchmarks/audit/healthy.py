"""Twenty models that compiling changes nothing of, each with what an audit might take for a difference."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from graphdoctor.dynamic.user_code.target import Mode

Given = tuple[Callable[..., object], tuple[torch.Tensor, ...]]


class Running(nn.Module):
    """Writes a buffer in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean.lerp_(x.mean(0), 0.1)
        return x - self.mean


class Remembers(nn.Module):
    """Keeps a tensor of each call in an attribute."""

    last: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x.relu()
        return self.last * 2


class Attention(nn.Module):
    """Heads, a mask, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.joined = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.joined(x).chunk(3, -1))
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


class Embeds(nn.Module):
    """Whole numbers in, a loss out."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(16, 8)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        scores = self.table(ids) @ self.table.weight.t()
        return functional.cross_entropy(scores.flatten(0, 1), ids.flatten())


class Recurrent(nn.Module):
    """A state through a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for step in x.unbind(1):
            state = self.cell(step, state)
        return state


def _scatters(x: torch.Tensor) -> torch.Tensor:
    index = torch.arange(8) % 3
    return torch.zeros(4, 3).index_add(1, index, x)


def _writes_its_argument(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x.add_(1)
    return x, x[0]


def _gives_views(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return x.t(), x[::2], x.reshape(2, 16)


def _raises(x: torch.Tensor) -> torch.Tensor:
    return x @ torch.ones(5, 5)


def _sorts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.sort(x, dim=1, stable=True)


def _rows(*more: int) -> tuple[torch.Tensor]:
    return (torch.rand(4, *more, 8),)


def _image() -> tuple[torch.Tensor]:
    return (torch.rand(2, 3, 8, 8),)


def _net(*layers: nn.Module) -> nn.Module:
    # The outer module has a forward of its own, as a user's has: Dynamo traces none of torch's as the first frame.
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.layers(x)
            return found

    return Net()


#: By name: the mode, and what makes function and arguments.
HEALTHY: dict[str, tuple[Mode, Callable[[], Given]]] = {
    "perceptron": ("train", lambda: (_net(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)), _rows())),
    "batch norm, train": ("train", lambda: (_net(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), _image())),
    "batch norm, eval": ("eval", lambda: (_net(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), _image())),
    "dropout, train": ("train", lambda: (_net(nn.Linear(8, 8), nn.Dropout(0.5)), _rows())),
    "dropout, eval": ("eval", lambda: (_net(nn.Linear(8, 8), nn.Dropout(0.5)), _rows())),
    "layer norm": ("train", lambda: (_net(nn.LayerNorm(8), nn.SiLU(inplace=True)), _rows())),
    "group norm": ("eval", lambda: (_net(nn.Conv2d(3, 4, 3, padding=1), nn.GroupNorm(2, 4)), _image())),
    "transposed convolution": ("eval", lambda: (_net(nn.ConvTranspose2d(3, 4, 2, 2), nn.MaxPool2d(2)), _image())),
    "channels last": ("eval", lambda: (_net(nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last), _image())),
    "attention": ("train", lambda: (Attention(), _rows(5))),
    "half precision": ("eval", lambda: (_net(nn.Linear(8, 8), nn.Tanh()).bfloat16(), (torch.rand(4, 8).bfloat16(),))),
    "embedding and loss": ("train", lambda: (Embeds(), (torch.arange(8).reshape(2, 4),))),
    "recurrent": ("train", lambda: (Recurrent(), _rows(3))),
    "a buffer that is written": ("eval", lambda: (Running(), _rows())),
    "an attribute that is kept": ("eval", lambda: (Remembers(), _rows())),
    "an argument that is written": ("eval", lambda: (_writes_its_argument, _rows())),
    "views of an argument": ("eval", lambda: (_gives_views, _rows())),
    "indices": ("eval", lambda: (_scatters, _rows())),
    "a stable sort": ("eval", lambda: (_sorts, _rows())),
    "an exception": ("eval", lambda: (_raises, _rows())),
}
