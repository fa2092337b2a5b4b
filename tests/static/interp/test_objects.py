"""What the constructors of scanned classes make of their arguments."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call, Convert, Truth
from graphdoctor.static.domain.values import Tensor

HEAD = """
        from dataclasses import dataclass
        import torch

        class Output(dict):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
"""


def items(found):
    return [e.site.function for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"]


def test_a_model_of_pydantic_holds_what_it_was_given_and_its_making_is_not_traced(events):
    found = events("""
        import torch
        from pydantic import BaseModel

        class Checked(BaseModel):
            model_config = {"arbitrary_types_allowed": True}

        class Inputs(Checked):
            time: torch.Tensor

        @torch.compile
        def f(x):
            return Inputs(time=x.sum()).time.item()
    """)
    assert [e.qualname for e in found if isinstance(e, Call)][-2:] == ["pydantic.BaseModel", "torch.Tensor.item"]


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        pytest.param("loss: torch.Tensor = None", "Point(loss=x.sum()).loss.item()", id="generated-hides-inherited"),
        pytest.param(
            """loss: torch.Tensor = None

            def __post_init__(self):
                self.total = self.loss.item()
            """,
            "Point(loss=x.sum()).total",
            id="post-init",
        ),
    ],
)
def test_a_dataclass_fills_its_fields_whatever_init_it_inherits(events, fields, read):
    body = f"""
        @dataclass
        class Point(Output):
            {fields}

        @torch.compile
        def f(x):
            return {read}
"""
    assert len(items(events(HEAD + body))) == 1


def test_an_init_of_the_dataclass_itself_counts(events):
    body = """
        @dataclass
        class Point(Output):
            loss: torch.Tensor = None

            def __init__(self, loss):
                self.loss = 0

        @torch.compile
        def f(x):
            return Point(x.sum()).loss.item()
"""
    assert items(events(HEAD + body)) == []


NAMED = """
        import torch
        from torch import nn

        class Config:
            kind = "quiet"

        class Net(nn.Module):
            kind = "quiet"

            def __init__(self, config: Config):
                super().__init__()
                self.config = config

            def forward(self, x):
                if {test} == "loud":
                    x.sum().item()
                return x
"""


@pytest.mark.parametrize(
    ("test", "reached"),
    [
        pytest.param("self.kind", False, id="of-the-module"),
        pytest.param("self.config.kind", True, id="of-what-is-passed"),
        pytest.param("type(self.config).kind", True, id="of-its-class"),
        pytest.param("Config.kind", False, id="of-a-class-by-name"),
        pytest.param("Config().kind", False, id="of-what-is-made-here"),
    ],
)
def test_a_passed_object_may_be_of_a_subclass_with_another_name(events, test, reached):
    assert bool(items(events(NAMED.format(test=test)))) is reached


LAYER = """
        import torch
        from torch import nn

        def width(net):
            net.loud = True
            return 8

        class Net(nn.Module):
            loud = False

            def __init__(self, config):
                super().__init__()
                self.proj = nn.Linear({width}, config.out * 2 + 1, bias=False)

            def forward(self, x):
                if self.loud:
                    x.sum().item()
                return self.proj(x)
"""


@pytest.mark.parametrize(("width", "reached"), [("width(self)", True), ("config.width", False)])
def test_what_sizes_of_layers_call_is_followed(events, width, reached):
    assert bool(items(events(LAYER.format(width=width)))) is reached


SIZED = """
        from dataclasses import dataclass
        from torch import nn

        @dataclass
        class Config:
            extra: int = 0
            limit = 0

        class Net(nn.Module):
            def __init__(self, config{annotation}):
                super().__init__()
                self.extra, self.limit = config.extra, config.limit

            def forward(self, x):
                if self.{name} == 0:
                    return x
                return x[x > self.extra].sum().item()
"""


@pytest.mark.parametrize(
    ("annotation", "name", "reached"),
    [
        pytest.param(": Config", "extra", True, id="of-a-field-of-what-is-passed"),
        pytest.param(": Config", "limit", False, id="of-what-is-no-field"),
        pytest.param("=Config()", "extra", False, id="of-what-is-made-here"),
    ],
)
def test_the_number_of_a_field_of_a_passed_object_may_be_another(events, annotation, name, reached):
    assert bool(items(events(SIZED.format(annotation=annotation, name=name)))) is reached


def test_a_part_that_stands_below_what_holds_it_has_its_own_parts(events):
    found = events("""
        import torch

        class Whole(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                self.part = Part(size)

            def forward(self, x):
                return self.part(x)

        class Part(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                self.layer = torch.nn.GRU(size, size)

            def forward(self, x):
                return self.layer(x)
    """)
    assert [e for e in found if isinstance(e, Call) and e.qualname == "torch.nn.GRU.forward"]


NETS = """\
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        print(x)
        return x


class Net(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.layers = self._layers(depth)

    def _layers(self, depth):
        return nn.Sequential(*[Block() for _ in range(depth)])

    def forward(self, x):
        return self.layers(x)


def make(**options):
    net = Net(**options)
    return net


def small():
    return make(depth=1)


def chosen(kind):
    if kind == "net":
        net = Net
    else:
        raise ValueError(kind)
    return net


def described(net):
    return str(net)
"""
SAMPLE = (
    "import torch\nimport nets\nfrom nets import *\n\n\ndef graphdoctor_target():\n    return {}, (torch.ones(2),)\n"
)
SCRIPT = "import torch\nimport nets\nfrom nets import *\n\nnet = torch.compile({})\nnet(torch.ones(2))\n"


@pytest.mark.parametrize("program", [SAMPLE, SCRIPT])
@pytest.mark.parametrize("built", ["Net()", "make()", "small()", "nets.small()", 'chosen("net")()'])
def test_the_model_that_a_function_of_another_file_builds(tmp_path: Path, program: str, built: str) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    file = tmp_path / "main.py"
    file.write_text(program.format(built))
    found = analyse([(file, "main.py")], helper=lambda file: file.name).findings
    assert [(f.location.path, f.location.line) for f in found] == [("nets.py", 6)]


def test_what_builds_no_module_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    file = tmp_path / "main.py"
    file.write_text(SCRIPT.format("described(torch.nn.ReLU())"))
    assert analyse([(file, "main.py")], helper=lambda file: file.name).findings == ()


PARTS = """
import torch


class Sampler:
    def __init__(self, size):
        self.size = size

    def pick(self, x):
        return torch.nonzero(x)


def sampler(size=2): return Sampler(size)


def described(size):
    return str(Sampler(size))
"""
HOLDER = """
import torch
import torch.nn as nn
import parts


class Net(nn.Module):
    def __init__(self, sampler):
        super().__init__()
        self.sampler = sampler

    def forward(self, x):
        return self.sampler.pick(x)


torch.compile(Net({}))(torch.ones(2))
"""


@pytest.mark.parametrize(
    ("part", "found"), [("parts.Sampler(2)", [10]), ("parts.sampler()", [10]), ("parts.described(2)", [])]
)
def test_an_object_that_a_function_of_another_file_gives_is_a_part_of_a_module(
    tmp_path: Path, part: str, found: list[int]
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    file = tmp_path / "main.py"
    file.write_text(HOLDER.format(part))
    findings = analyse([(file, "main.py")], helper=lambda file: file.name).findings
    assert [f.location.line for f in findings if f.location.path == "parts.py"] == found


STORED = """
    import torch
    import torch.nn as nn

    class Steps:
        def __init__(self):
            self.last = None

        def update(self, t):
            if self.last is not None:
                self.last.item()
            self.last = t

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = Steps()

        def forward(self, x: torch.Tensor, times: list[torch.Tensor]):
            {}
            return x
"""


@pytest.mark.parametrize(
    "line",
    [
        "self.steps.update(x[0]); self.steps.update(x[1])",
        "steps = Steps(); steps.update(x[0]); steps.update(x[1])",
        "for t in times: self.steps.update(t)",
    ],
)
def test_what_one_call_stores_the_next_one_finds(events, line: str) -> None:
    found = events(STORED.format(line))
    assert [e.site.function for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"][:1] == [
        "Steps.update"
    ]


def test_nothing_is_stored_before_the_first_call(events) -> None:
    found = events(STORED.format("steps = Steps(); steps.update(x[0])"))
    assert [e for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"] == []


def test_a_function_in_a_field_of_a_dataclass_is_no_method(events):
    found = events("""
        from collections.abc import Callable
        from dataclasses import dataclass
        import torch

        def attend(queries, keys, causal):
            return queries if causal else keys

        @dataclass
        class Options:
            attend: Callable = attend

        class Layer(torch.nn.Module):
            def __init__(self, options: Options):
                super().__init__()
                self.attend = options.attend

            def forward(self, x):
                return self.attend(x, x, True)
    """)
    assert not [e for e in found if isinstance(e, Truth)]


def test_a_buffer_is_a_tensor_whatever_gave_it(events):
    found = events("""
        import filters
        import torch
        import torch.nn as nn

        class Net(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("bank", filters.bank(size))
                self.register_buffer("kept", torch.ones(3) if size else filters.bank(size))

            def forward(self, x):
                if self.bank > 1:
                    x = x + 1
                if self.kept > 1:
                    x = x + 1
                return x
    """)
    assert [e.site.module.location(e.node).line for e in found if isinstance(e, Truth)] == [13, 15]
    assert all(type(e.value) is Tensor for e in found if isinstance(e, Truth))


def test_what_a_decorator_keeps_in_a_table_is_found_there(events):
    found = events("""
        import torch
        import torch.nn as nn

        BLOCKS = {}

        def register(name):
            def keep(cls):
                BLOCKS[name] = cls
                return cls
            return keep

        @register("plain")
        class Block(nn.Module):
            def forward(self, x):
                return x.sum().item()

        class Net(nn.Module):
            def __init__(self, names):
                super().__init__()
                self.blocks = nn.ModuleList([BLOCKS[name]() for name in names])

            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x

        model = torch.compile(Net(["plain"]))
    """)
    assert items(found) == ["Block.forward"]


def test_a_formatted_key_reads_only_entries_whose_name_fits(events):
    found = events("""
        import torch
        import torch.nn as nn

        class Position(nn.Module):
            def forward(self, count):
                return torch.arange(0, count)

        class Token(nn.Module):
            def forward(self, x):
                return x.sum().item()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"position": Position(), "token_0": Token(), "token_1": Token()})

            def forward(self, x, names):
                for name in names:
                    x = x + self.parts[f"token_{name}"](x)
                return self.parts.position(x.shape[0])
    """)
    assert items(found) == ["Token.forward"]
    assert not [e for e in found if isinstance(e, Convert)]


HOOKED = """\
import torch
from torch import nn


class Layer(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, self.weight)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = Layer(4, 4)
        self.key = Layer(4, {size})

    def forward(self, x):
        query = self.query(x)
        return query, self.key(x)


@torch.compiler.disable
def hook(module, inputs, output):
    return output * 2


net = Net()
net.query.register_forward_hook(hook)
torch.compile(net)(torch.ones(2, 4))
"""


@pytest.mark.parametrize(("size", "lines"), [(8, [17]), (4, [])])
def test_a_hook_belongs_to_the_object_that_it_is_registered_on(tmp_path: Path, size: int, lines: list[int]) -> None:
    file = tmp_path / "net.py"
    file.write_text(HOOKED.format(size=size))
    found = [(f.rule, f.location.line) for f in analyse([(file, "net.py")]).findings]
    # Of two objects that are made alike it is not known which one has it.
    assert found == [("GD508", line) for line in lines]


RECORDS = """
import torch
from dataclasses import dataclass
from typing import NamedTuple, Optional

__all__ = ["f"]


@dataclass
class Record:
    scores: torch.Tensor
    count: int
    kind: str
    mask: Optional[torch.Tensor] = None


class Pair(NamedTuple):
    scores: torch.Tensor
    count: int


class Pose:
    def __init__(self, scores: torch.Tensor, count: int, kept: torch.Tensor):
        self.scores = scores
        self.count = count
        kept = count + 1
        self.kept = kept

    @property
    def best(self):
        return self.scores.max()


def f(of: {kind}, x: torch.Tensor):
    if {test}:
        return x + 1
    return x * of.scores
"""


@pytest.mark.parametrize(
    ("kind", "test", "breaks"),
    [
        ("Record", "of.count > 2", False),
        ("Record", "of.kind == 'left'", False),
        ("Record", "of.mask is None", False),
        ("Record", "of.scores.ndim > 2", False),
        ("Record", "of.scores.sum() > 2", True),
        ("Record", "of.mask is not None and of.mask.sum() > 2", True),
        ("Pair", "of.count > 2", False),
        ("Pair", "of.scores[0] > 2", True),
        ("Pair", "of[0][0] > 2", True),
        ("Pair", "[scores[0] for scores, _ in [of]][0] > 2", True),
        ("Pose", "of.count > 2", False),
        ("Pose", "of.kept > 2", False),
        ("Pose", "of.best > 2", True),
    ],
)
def test_attributes_are_what_the_class_declares(tmp_path, kind, test, breaks):
    torch = pytest.importorskip("torch")
    file = tmp_path / "records.py"
    file.write_text(RECORDS.format(kind=kind, test=test))
    assert [f.rule for f in analyse([(file, file.name)]).findings] == ["GD201"] * breaks
    names: dict = {"__name__": __name__}
    exec(compile(file.read_text(), str(file), "exec"), names)
    rows = torch.rand(3)
    made = {
        "Record": lambda: names["Record"](rows, 3, "right", rows),
        "Pair": lambda: names["Pair"](rows, 3),
        "Pose": lambda: names["Pose"](rows, 3, rows),
    }[kind]()
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported) if breaks else nullcontext():
        torch.compile(names["f"], backend="eager", fullgraph=True)(made, rows)


def test_a_subclass_of_a_layer_inherits_its_tensors(events):
    found = events("""
        import torch
        from torch import nn

        class Quantized(nn.Linear):
            def forward(self, x):
                weight = self.weight
                return nn.functional.linear(x, weight, self.bias + weight.sum().item())

        class Plain(nn.Module):
            def forward(self, x):
                return x * self.weight.max().item()
    """)
    known = [e.receiver for e in found if isinstance(e, Call) and e.qualname == "torch.Tensor.item"]
    assert [isinstance(receiver, Tensor) and receiver.dtype for receiver in known] == ["float", None]
