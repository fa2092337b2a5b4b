"""What is read of a recurrent layer, as Dynamo takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint import catalog
from graphdoctor.lint.engine import analyse

SOURCE = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x):
        read = {read}
        return x + 1
"""

#: Behind a layer that has parameters, and inside a container.
BEHIND = SOURCE.replace("self.rnn = nn.LSTM(4, 4)", "self.layers = nn.Sequential(nn.Linear(4, 4), nn.LSTM(4, 4))")

#: In a module of one's own.
INSIDE = """\
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        read = {read}
        return x + 1
"""


@pytest.mark.parametrize(
    "read",
    [
        "self.rnn.weight_hh_l0", "self.rnn.weight_hh_l0.device", "self.rnn.all_weights", "self.rnn.training",
        "self.rnn.mode", "self.rnn.num_layers", "self.rnn is None", "next(self.rnn.parameters())", "self.training",
    ],
)  # fmt: skip
def test_what_is_read_breaks_where_it_is_reported(tmp_path: Path, read: str) -> None:
    # Since torch 2.15 it breaks where what was read is used.
    _compare(tmp_path, SOURCE.format(read=read).replace("x + 1", "x + isinstance(read, int)"))


@pytest.mark.parametrize("source", [SOURCE, BEHIND])
@pytest.mark.parametrize(
    "read",
    [
        "next(self.parameters()).device", "list(self.parameters())", "[n for n, p in self.named_parameters()]",
        "next(iter(self.named_parameters()))", "list(self.buffers())", "list(self.modules())", "next(self.modules())",
        "list(self.named_modules())", "list(self.children())", "next(self.children())",
        "[name for name, child in self.named_children()]",
    ],
)  # fmt: skip
def test_what_goes_through_the_layers_breaks_where_it_comes_to_a_recurrent_one(
    tmp_path: Path, source: str, read: str
) -> None:
    _compare(tmp_path, source.format(read=read))


@pytest.mark.parametrize("source", [SOURCE, INSIDE])
@pytest.mark.parametrize(
    "call",
    [
        "self.eval()", "self.train(False)", "self.apply(lambda part: None)", "self.zero_grad()", "self.to(x.device)",
        "self.float()", "self.state_dict()", "self.requires_grad_()", "self.get_parameter", "self.compile",
        "self.register_buffer('kept', x)", "self.extra_repr()",
    ],
)  # fmt: skip
def test_methods_that_go_through_all_layers(tmp_path: Path, source: str, call: str) -> None:
    _compare(tmp_path, source.format(read=call))


@pytest.mark.parametrize("call", ["self.linear.eval()", "self.rnn.eval()", "self.linear.to(x.device)"])
def test_methods_of_a_single_layer(tmp_path: Path, call: str) -> None:
    linear = SOURCE.replace("self.rnn =", "self.linear = nn.Linear(4, 4)\n        self.rnn =")
    _compare(tmp_path, linear.format(read=call))


def test_a_loop_that_is_left_may_not_come_to_the_layer(tmp_path: Path) -> None:
    left = "0\n        for p in self.parameters():\n            read = p.device\n            break"
    _compare(tmp_path, SOURCE.format(read=left))
    _compare(tmp_path, BEHIND.format(read=left))


@pytest.mark.parametrize("look", ["isinstance(layer, nn.LSTM)", "type(layer)", "layer"])
def test_a_loop_over_layers_breaks_where_it_looks_at_one(tmp_path: Path, look: str) -> None:
    _compare(tmp_path, BEHIND.format(read=f"0\n        for layer in self.layers:\n            read = {look}"))


@pytest.mark.parametrize(
    ("lines", "breaks"),
    [
        ("if self.rnn is not None:\n            x = x + 1", False),
        ("for child in self.children():\n            x = x + 1", False),
        ("x = x + len([name for name, child in self.named_children()])", False),
        ("if self.rnn.training:\n            x = x + 1", True),
        ("x = x * self.rnn.num_layers", True),
        ("if isinstance(self.rnn, nn.LSTM):\n            x = x + 1", True),
        ("x = x + len(list(self.modules()))", True),
    ],
)
def test_what_only_reads_a_layer_breaks_before_torch_2_15(tmp_path: Path, lines: str, breaks: bool) -> None:
    source = SOURCE.replace("read = {read}", lines)
    _compare(tmp_path, source)
    active = catalog.holding(catalog.rules(), "2.15.0")
    assert {finding.rule for finding in analyse([(tmp_path / "net.py", "net.py")], active).findings} == (
        {"GD502"} if breaks else set()
    )


def _compare(folder: Path, source: str) -> None:
    file = folder / "net.py"
    file.write_text(source)
    active = catalog.holding(catalog.rules(), torch.__version__)
    reported = {finding.rule for finding in analyse([(file, "net.py")], active).findings}
    namespace: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    torch._dynamo.reset()
    net = torch.compile(namespace["Net"](), backend="eager", fullgraph=True)  # type: ignore[operator]
    try:
        net(torch.ones(2, 4))
    except torch._dynamo.exc.Unsupported:
        assert reported == {"GD502"}
    else:
        assert not reported


@pytest.mark.parametrize(
    ("read", "words"),
    [
        ("self.rnn(x)", "`self.rnn(x)` calls a recurrent layer"),
        ("self.rnn.flatten_parameters()", "`self.rnn.flatten_parameters()` calls a method of a recurrent layer"),
    ],
)
def test_a_method_of_the_layer_is_not_called_the_layer(tmp_path: Path, read: str, words: str) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.format(read=read))
    (found,) = analyse([(file, file.name)]).findings
    assert found.message.startswith(words)
