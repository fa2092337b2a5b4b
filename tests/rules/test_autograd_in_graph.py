"""Where ``requires_grad_()`` of a result breaks, and which functions are checkpoints written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.target_torch.specifiers import allows

SOURCE = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8, 4)
        self.head = nn.Linear(4, 4)

    def forward(self, ids, scale):
        x = {value}
        x.requires_grad_(True)
        return self.head(x)

    def scaled(self, scale):
        return scale * 2


def graphdoctor_target():
    return Net(), (torch.tensor([1, 2]), torch.rand(4))
"""


def found_and_made(folder, text):
    """The rules that find something in ``text``, and what its ``graphdoctor_target`` gives."""
    file = folder / "net.py"
    file.write_text(text)
    names: dict = {}
    exec(compile(text, str(file), "exec"), names)
    return [f.rule for f in analyse([(file, file.name)]).findings], names["graphdoctor_target"]()


@pytest.mark.parametrize(
    ("value", "breaks"),
    [("self.embed(ids)", False), ("scale * 2", True), ("self.scaled(scale)", True), ("self.embed(ids).detach()", True)],
)
def test_what_layers_give_requires_a_gradient_already(tmp_path, value, breaks):
    torch = pytest.importorskip("torch")
    rules, (model, inputs) = found_and_made(tmp_path, SOURCE.format(value=value))
    assert rules == (["GD501"] if breaks else [])
    assert (torch._dynamo.explain(model)(*inputs).graph_break_count > 0) is breaks


@pytest.mark.parametrize(("write", "breaks"), [("self.register_buffer('held', made)", False), ("pass", True)])
def test_a_buffer_that_the_trace_registers_is_detached_in_the_graph(tmp_path, write, breaks):
    torch = pytest.importorskip("torch")
    text = f"""\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.ones(4))

    def forward(self, x):
        made = x.mean(0)
        {write}
        self.held.detach_()
        return x + self.held


def graphdoctor_target():
    return Net(), (torch.rand(2, 4),)
"""
    rules, (model, inputs) = found_and_made(tmp_path, text)
    assert rules == (["GD501"] if breaks else [])
    assert (torch._dynamo.explain(model)(*inputs).graph_break_count > 0) is breaks


OWN = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        {statement}
        return grad * y


@torch.compile(backend="eager")
def f(x):
    return Double.apply(x)
"""


@pytest.mark.parametrize(
    ("statement", "breaks"),
    [("y = ctx.x.detach().requires_grad_(True)", False), ("y = torch.zeros(4, requires_grad=True)", True)],
)
def test_what_a_backward_asks_of_its_own_tensors_is_taken_for_granted(tmp_path, splits, statement, breaks):
    torch = pytest.importorskip("torch")
    file = tmp_path / "own.py"
    file.write_text(OWN.format(statement=statement))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == (["GD501"] if breaks else [])
    assert splits(file.read_text(), "f", torch.rand(4, requires_grad=True)) is breaks


CHECKPOINT = """\
import torch
import torch.nn as nn


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, *args):
        {kept}
        with torch.no_grad():
            return {first}(*args)

    @staticmethod
    def backward(ctx, *slopes):
        ins = [x.detach().requires_grad_(True) for x in ctx.ins]
        with torch.enable_grad():
            out = {again}(*ins)
        return (None, *torch.autograd.grad(out, ins, slopes))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def forward(self, x):
        return Checkpoint.apply(self.net, x)


def graphdoctor_target():
    return Net(), (torch.rand(2, 4),)
"""


@pytest.mark.parametrize(
    ("kept", "first", "again", "is_checkpoint"),
    [
        ("ctx.run, ctx.ins = run, list(args)", "run", "ctx.run", True),
        ("ctx.run = run; ctx.ins = args", "ctx.run", "ctx.run", True),
        ("ctx.ins = args", "run", "ctx.net", False),
        ("ctx.slope = torch.sigmoid; ctx.ins = args", "run", "ctx.slope", False),
    ],
)
def test_a_function_that_runs_again_what_its_forward_ran_is_a_checkpoint(tmp_path, kept, first, again, is_checkpoint):
    file = tmp_path / "net.py"
    file.write_text(CHECKPOINT.format(kept=kept, first=first, again=again))
    found = [f for f in analyse([(file, file.name)]).findings if f.rule == "GD501"]
    assert found
    assert {"torch.utils.checkpoint.checkpoint(" in f.suggestion for f in found} == {is_checkpoint}


SAVED = """\
import torch


class Thrice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.tensor(3.0))
        return x * 3

    @staticmethod
    def backward(ctx, slope):
        for factor in ctx.{name}:
            slope = slope * factor
        return slope


@torch.compile(backend="eager")
def f(x):
    return Thrice.apply(x)
"""


@pytest.mark.parametrize(("name", "slope", "rules"), [("saved_variables", 1, ["GD501"]), ("saved_tensors", 3, [])])
def test_a_loop_over_the_old_name_of_what_was_saved_gives_a_wrong_gradient(tmp_path, name, slope, rules):
    torch = pytest.importorskip("torch")
    file = tmp_path / "saved.py"
    file.write_text(SAVED.format(name=name))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == rules
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    x = torch.ones(2, requires_grad=True)
    names["f"](x).sum().backward()
    gradient = slope if allows("<2.14", torch.__version__) else 3
    assert x.grad.tolist() == [gradient, gradient]


def test_the_attribute_of_another_class_is_not_what_was_saved(tmp_path):
    file = tmp_path / "stored.py"
    file.write_text(
        "import torch\n\n\nclass Store:\n    def __getattr__(self, name):\n        return self.__dict__[name]\n\n\n"
        "@torch.compile\ndef f(x: torch.Tensor, store: Store):\n    kept, other = store.saved_variables\n"
        "    return x * kept\n"
    )
    assert [f.rule for f in analyse([(file, file.name)]).findings if f.rule == "GD501"] == []


ASKED = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4))

    def forward(self, x):
        y = x * self.weight
        if {tensor}.grad_fn is not None:
            y = y + 1
        return y


def graphdoctor_target():
    return Net(), (torch.rand(4, requires_grad=True),)
"""


@pytest.mark.parametrize(("tensor", "breaks"), [("x", False), ("self.weight", False), ("y", True)])
def test_what_no_operation_made_has_no_grad_fn(tmp_path, tensor, breaks):
    torch = pytest.importorskip("torch")
    testing = pytest.importorskip("torch._dynamo.testing")
    rules, (model, inputs) = found_and_made(tmp_path, ASKED.format(tensor=tensor))
    assert rules == (["GD501"] if breaks else [])
    torch.compiler.reset()
    counter = testing.CompileCounter()
    torch.compile(model, backend=counter)(*inputs)
    assert (counter.op_count == 0) is breaks


@pytest.mark.parametrize(("tensor", "breaks"), [("x", False), ("self.weight", False), ("y", True)])
def test_the_data_of_what_exists_before_the_graph_may_be_replaced(tmp_path, tensor, breaks):
    torch = pytest.importorskip("torch")
    counters = pytest.importorskip("torch._dynamo.utils").counters
    body = f"        {tensor}.data = {tensor}.data * 2\n"
    source = ASKED.replace("        if {tensor}.grad_fn is not None:\n            y = y + 1\n", body)
    rules, (model, inputs) = found_and_made(tmp_path, source)
    assert rules == (["GD501"] if breaks else [])
    torch.compiler.reset()
    counters.clear()
    torch.compile(model, backend="eager")(*inputs)
    assert bool(counters["graph_break"]) is breaks


FORWARD_MODE = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


class Plain(Double):
    jvp = torch.autograd.Function.jvp


def f(x):
    return {applied}.apply(x.exp()) + 1


def graphdoctor_target():
    return f, (torch.rand(4, requires_grad=True),)
"""


@pytest.mark.parametrize(("applied", "rules"), [("Double", ["GD501"]), ("Plain", [])])
def test_a_subclass_goes_back_to_the_jvp_of_torch(tmp_path, applied, rules):
    torch = pytest.importorskip("torch")
    found, (function, inputs) = found_and_made(tmp_path, FORWARD_MODE.format(applied=applied))
    assert found == rules
    torch._dynamo.reset()
    assert bool(torch._dynamo.explain(function)(*inputs).graph_break_count) == bool(rules)


PENALTY = """\
import torch


def penalty(real, made):
    {statement}
    slope = torch.autograd.grad(point.sin().sum(), point, create_graph=True)[0]
    return slope.norm()


def derived(real, made):
    return torch.func.grad(lambda point: point.sin().sum())(torch.lerp(real, made, 0.5)).norm()


def graphdoctor_target():
    return penalty, (torch.rand(4), torch.rand(4))
"""


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("point = torch.lerp(real, made, 0.5).requires_grad_(True)", "torch.func.grad"),
        ("point = torch.lerp(real, made, 0.5)\n    point.requires_grad = True", "torch.func.grad"),
        ("point = real.requires_grad_(True)", "set requires_grad before the call"),
    ],
)
def test_what_the_graph_makes_is_not_to_be_set_before_the_call(tmp_path, statement, advice):
    torch = pytest.importorskip("torch")
    text = PENALTY.format(statement=statement)
    file = tmp_path / "penalty.py"
    file.write_text(text)
    assert advice in analyse([(file, file.name)]).findings[0].suggestion
    names: dict = {}
    exec(compile(text, str(file), "exec"), names)
    torch.compile(names["derived"], backend="eager", fullgraph=True)(torch.rand(4), torch.rand(4))


FLAGGED = """\
import torch


def f(x, keep: bool = False):
    made = torch.zeros(4).requires_grad_({flag})
    return x + made * 2


def graphdoctor_target():
    return f, (torch.rand(4, requires_grad=True),)
"""


@pytest.mark.parametrize(
    ("flag", "found", "breaks"),
    [
        ("True", ["certain"], True),
        ("not x.requires_grad", ["possible"], False),
        ("keep and not x.requires_grad", [], False),
    ],
)
def test_a_gradient_that_a_flag_asks_for_is_possible(tmp_path, flag, found, breaks):
    torch = pytest.importorskip("torch")
    file = tmp_path / "net.py"
    file.write_text(FLAGGED.format(flag=flag))
    assert [f.confidence for f in analyse([(file, file.name)]).findings] == found
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    function, inputs = names["graphdoctor_target"]()
    torch._dynamo.reset()
    assert bool(torch._dynamo.explain(function)(*inputs).graph_break_count) is breaks


@pytest.mark.parametrize("part", ["real", "imag"])
def test_the_parts_of_a_complex_tensor_are_not_assigned(tmp_path, splits, part):
    torch = pytest.importorskip("torch")
    source = f"import torch\n\n\ndef f(x):\n    y = torch.fft.fft(x)\n    y.{part} += 1\n    return y\n"
    file = tmp_path / "net.py"
    file.write_text(source.replace("def f", "@torch.compile\ndef f"))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == ["GD501"]
    assert splits(source, "f", torch.rand(4))


def test_the_memory_of_an_array_is_none_of_autograd(tmp_path: Path) -> None:
    """An array has no `copy_`, so what helps where the data of a tensor is assigned does not help here."""
    source = """\
import numpy as np
import torch
import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        a = x.numpy()
        a = (a + a.T) / 2
        a.data = np.ones(a.shape)
        return torch.from_numpy(a)
"""
    file = tmp_path / "model.py"
    file.write_text(source)
    (finding,) = analyse([(file, file.name)]).findings
    assert finding.message.startswith("`a.data` is assigned, which is the memory of an array")
    assert "copy_" not in finding.suggestion and finding.fix is not None and not finding.fix.edits
