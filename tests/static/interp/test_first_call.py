"""Branches that only the first call of a module takes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Call, GetAttr

torch = pytest.importorskip("torch")

MODEL = """
import torch
import torch.nn as nn

TABLES = {}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None
        self.kind = "sparse"
        self.ready = False
        self.first = True
        self.tables = {}

    def forward(self, x):
        BODY
        return x

    def choose(self, kind):
        self.kind = kind
"""
SAMPLE = "\ndef graphdoctor_target():\n    return Net(), (torch.rand(4, 4),)\n"


def untaken(events, body: str, after: str = "") -> list[bool]:
    source = MODEL.replace("BODY", body.replace("\n", "\n        ")) + after
    return [e.site.untaken for e in events(source) if isinstance(e, Call) and e.qualname == "builtins.print"]


@pytest.mark.parametrize(
    "body",
    [
        "if self.table is None:\n    print(1)\n    self.table = x.sum(0)",
        "if self.kind == 'sparse' and x.shape[0] < 8:\n    print(1)\n    self.choose('full')",
        "if not self.ready:\n    print(1)\n    self.ready = True",
        "if not hasattr(self, 'seen'):\n    print(1)\n    self.seen = True",
        "if self.first and x.shape[0] < 8:\n    print(1)\n    self.first = False",
        "if self.table is None:\n    print(1)\n    self.table, self.kind = x.sum(0), 'full'",
        "if self.table is None:\n    print(1)\n    (self.kind, self.table) = x.split(2)",
        "if self.table is not None:\n    return self.table\nprint(1)\nself.table = x.sum(0)",
        "if self.ready:\n    return x\nprint(1)\nself.ready = True",
        "if hasattr(self, 'seen'):\n    return self.seen\nprint(1)\nself.seen = x",
        "if self.table is not None:\n    x = x + self.table\nelse:\n    print(1)\n    self.table = x.sum(0)",
        "old = self.table\nif old is not None:\n    return old\nprint(1)\nself.table = x.sum(0)",
        "old = getattr(self, 'table')\nif old is None:\n    print(1)\n    old = x.sum(0)\n    setattr(self, 'table', old)",
        "old = getattr(self, NAME, None)\nif old is not None:\n    return old\nprint(1)\nsetattr(self, NAME, x.sum(0))",
        "if key not in self.tables:\n    print(1)\n    self.tables[key] = x.sum(0)",
        "if 'a' not in TABLES:\n    print(1)\n    TABLES['a'] = x.sum(0)",
        "if key in TABLES:\n    return TABLES[key]\nprint(1)\nTABLES[key] = x.sum(0)",
        "old = TABLES.get(key)\nif old is None:\n    print(1)\n    old = x.sum(0)\n    TABLES[key] = old",
        "old = self.tables.get(key, None)\nif old is None:\n    print(1)\n    self.tables[key] = x.sum(0)",
        "if self.tables[key] is None:\n    print(1)\n    self.tables[key] = x.sum(0)",
    ],
)
def test_a_branch_that_shuts_itself_is_taken_by_the_first_call_only(events, body):
    assert untaken(events, body) == [True]
    assert untaken(events, body, SAMPLE) == [False], "the sample is a new module"


@pytest.mark.parametrize(
    "body",
    [
        "if self.table is None:\n    print(1)",
        "if self.table is None:\n    print(1)\n    self.ready = True",
        "if not self.ready:\n    print(1)\n    self.ready = self.ready + 1",
        "if self.table is None:\n    print(1)\n    self.table = x.sum(0)\nself.table = None",
        "if self.table is None:\n    print(1)\n    self.table, self.kind = x, 'full'\nself.table, self.kind = None, None",
        "if not self.ready:\n    print(1)\n    self.kind, self.ready = 'full', self.ready + 1",
        "if self.training:\n    print(1)\n    self.training = False",
        "if self.first:\n    print(1)\n    self.first = False\nself.first = x.shape[0] > 2",
        "if self.table is not None:\n    return self.table\nprint(1)\nself.kind = 'full'",
        "if self.table is not None:\n    x = x + self.table\nprint(1)\nself.table = x.sum(0)",
        "if self.table is not None:\n    return self.table\nprint(1)\nself.table = x.sum(0)\nself.table = None",
        "if self.training:\n    return x\nprint(1)\nself.training = True",
        "old = self.table\nif old is not None:\n    return old\nprint(1)\nold = x.sum(0)",
        "kept = x if x.dim() > 2 else None\nold = kept\nif old is not None:\n    return old\nprint(1)\nkept = x.sum(0)",
        "old = getattr(self, NAME, None)\nif old is not None:\n    return old\nprint(1)\nsetattr(self, OTHER, x)",
        "if key not in self.tables:\n    print(1)\n    self.tables[other] = x.sum(0)",
        "if key not in self.tables:\n    print(1)\n    self.tables[key] = x.sum(0)\nself.tables = {}",
        "if key not in self.tables:\n    print(1)\n    self.tables[key] = x.sum(0)\nself.tables.clear()",
        "tables = {}\nold = tables.get(key)\nif old is None:\n    print(1)\n    tables[key] = x.sum(0)",
        "old = TABLES.get(key)\nif old is None:\n    print(1)\n    TABLES[other] = x.sum(0)",
        "tables = {}\nif key not in tables:\n    print(1)\n    tables[key] = x.sum(0)",
        "if key in TABLES:\n    print(1)\n    TABLES[key] = x.sum(0)",
    ],
)
def test_one_that_later_calls_may_take_again_is_not(events, body):
    assert untaken(events, body) == [False]


RESET = "\n    def refresh(self):\n        self.table = None\n"


@pytest.mark.parametrize(
    "body",
    [
        "if self.table is None:\n    print(1)\n    self.table = x.sum(0)",
        "if self.table is not None:\n    return self.table\nprint(1)\nself.table = x.sum(0)",
        "old = self.table\nif old is not None:\n    return old\nprint(1)\nself.table = x.sum(0)",
    ],
)
def test_what_another_method_takes_away_is_made_again(events, body):
    assert untaken(events, body, RESET) == [False]
    assert untaken(events, body, RESET.replace("table", "other")) == [True]
    assert untaken(events, body, RESET.replace("None", "self.first")) == [True]


def test_a_cached_property_of_a_module_in_use_was_read_before(events):
    source = """
    import functools

    import torch
    import torch.nn as nn


    class Net(nn.Module):
        @functools.cached_property
        def scale(self):
            return 2.0

        def forward(self, x):
            return x * self.scale
    """
    sample = "\n\n    def graphdoctor_target():\n        return Net(), (torch.rand(4),)\n"
    assert [e.site.untaken for e in events(source) if isinstance(e, GetAttr)] == [True]
    assert [e.site.untaken for e in events(source + sample) if isinstance(e, GetAttr)] == [False]


@pytest.mark.parametrize(
    ("words", "read"),
    [
        pytest.param("self.words", True, id="made-with-the-module"),
        pytest.param("Words(x.ndim)", False, id="made-in-compiled-code"),
    ],
)
def test_so_was_that_of_an_object_which_it_holds(events, words, read):
    source = """
    import functools

    import torch
    import torch.nn as nn


    class Words:
        def __init__(self, count):
            self.count = count

        @functools.cached_property
        def scale(self):
            return 2.0 * self.count


    class Net(nn.Module):
        def __init__(self, count: int):
            super().__init__()
            self.words = Words(count)

        def forward(self, x):
            return x * {words}.scale
    """
    found = [e for e in events(source.replace("{words}", words)) if isinstance(e, GetAttr) and e.name == "scale"]
    assert [e.site.untaken for e in found] == [read]


@pytest.mark.parametrize(
    ("solver", "later"),
    [
        pytest.param("self.solver", True, id="made-with-the-module"),
        pytest.param("Solver()", False, id="made-in-compiled-code"),
    ],
)
def test_an_object_that_each_call_makes_has_its_first_call_there(events, solver, later):
    source = """
    import torch
    import torch.nn as nn


    class Solver:
        def __init__(self):
            self.scale = None

        def setup(self, x):
            if self.scale is None:
                print(1)
                self.scale = x.sum()
            return self.scale


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.solver = Solver()

        def forward(self, x):
            return {solver}.setup(x)
    """
    found = events(source.replace("{solver}", solver))
    assert [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == [later]


GLOBALS = """
import torch
import torch.nn as nn

_kernel = None
_ready = False
_first = True


def kernel(x):
    {declared}
    {test}:
        print(1)
        {made}
    return x


class Net(nn.Module):
    def forward(self, x):
        return kernel(x)
"""


@pytest.mark.parametrize(
    ("declared", "test", "made", "once"),
    [
        ("global _kernel", "if _kernel is None", "_kernel = torch.eye(2)", True),
        ("global _ready", "if not _ready", "_ready = True", True),
        ("global _first", "if _first", "_first = False", True),
        ("pass", "if _kernel is None", "kernel = torch.eye(2)", False),
        ("global _kernel", "if _kernel is None", "x = torch.eye(2)", False),
    ],
)
def test_a_global_that_is_filled_once(events, declared, test, made, once):
    found = events(GLOBALS.format(declared=declared, test=test, made=made))
    assert [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == [once]


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        pytest.param("self.words = Words()", [18], id="read-in-compiled-code"),
        pytest.param("self.words = Words()\n                self.start = self.words.scale", [], id="read-before"),
    ],
)
def test_a_cached_property_is_read_first_once(events, made, lines):
    source = """
    import functools

    import torch
    import torch.nn as nn

    class Words:
        @functools.cached_property
        def scale(self):
            return 2.0

    class Net(nn.Module):
            def __init__(self):
                super().__init__()
                {made}

            def forward(self, x):
                y = x * self.words.scale
                return y[: self.words.scale] + self.words.scale
    """
    found = [e for e in events(source.replace("{made}", made)) if isinstance(e, GetAttr) and e.name == "scale"]
    assert [e.site.module.location(e.node).line for e in found] == lines


GENERATOR = """\
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 0
        self.generator = None

    def forward(self, x):
        {test}: {made}
        return x + torch.rand(x.shape, generator=self.generator)


net = Net()
net(torch.ones(2))


def f(x):
    return net(x)
"""


@pytest.mark.parametrize(
    ("test", "made", "breaks"),
    [
        ("if self.generator is None", "self.generator = torch.Generator()", True),
        ("if not self.generator", "self.generator = torch.Generator()", True),
        ("if self.generator is None or self.size > 4", "self.generator = torch.Generator()", True),
        ("if self.size > 4", "self.generator = torch.Generator()", False),
        ("if self.generator is None and self.size > 4", "self.generator = torch.Generator()", False),
        ("if self.generator is None", "self.size = 4", False),
    ],
)
def test_what_the_first_call_fills_is_there_afterwards(tmp_path, splits, test, made, breaks):
    file = tmp_path / "net.py"
    file.write_text(GENERATOR.format(test=test, made=made))
    line = file.read_text().splitlines().index("        return x + torch.rand(x.shape, generator=self.generator)") + 1
    assert [f.rule for f in analyse([(file, file.name)]).findings if f.location.line == line] == ["GD503"] * breaks
    assert splits(file.read_text(), "f", torch.ones(2)) == breaks


APPLIED = "x = Rule(words).apply(x)"

HELD = """
import functools

import torch

class Words:
    def __init__(self, table):
        self.table = table

    @functools.cached_property
    def start(self):
        return self.table["start"]

    def decode(self, rows):
        return [row for row in rows if row < self.start]

class Rule:
    def __init__(self, words):
        self.words = words

    def apply(self, x):
        return x[: self.words.start]

def f(x, words, short=False):
    {first}
    return x + len({held}.decode([1, 2]))
"""


@pytest.mark.parametrize(
    ("first", "held", "readers"),
    [
        pytest.param(APPLIED, "words", ["Rule.apply"], id="of-the-same-object"),
        pytest.param(APPLIED, "Words({'start': 5})", ["Rule.apply", "Words.decode"], id="of-another"),
        pytest.param(f"if short: {APPLIED}", "words", ["Rule.apply", "Words.decode"], id="not-in-each-call"),
    ],
)
def test_another_function_reads_what_the_same_call_filled(events, first, held, readers):
    call = "\n\ncompiled = torch.compile(f)\ncompiled(torch.rand(4), Words({'start': 2}), short)\n"
    found = events(HELD.replace("{first}", first).replace("{held}", held) + call)
    assert [e.site.function for e in found if isinstance(e, GetAttr) and e.name == "start"] == readers


def test_that_read_is_traced(splits):
    names: dict[str, Any] = {}
    source = HELD.replace("{first}", APPLIED).replace("{held}", "words")
    exec(source, names)
    filled, fresh = names["Words"]({"start": 2}), names["Words"]({"start": 2})
    names["Rule"](filled).apply(torch.rand(4))
    decoding = source + "\n\ndef g(x, words):\n    return x + len(words.decode([1, 2]))\n"
    assert not splits(decoding, "g", torch.rand(4), filled)
    assert splits(decoding, "g", torch.rand(4), fresh) is (sys.version_info < (3, 12))


KEPT = """
from functools import wraps

import torch
import torch.nn as nn


def kept(name):
    def decorate(fn):
        @wraps(fn)
        def wrapper(self, *args):
            made = getattr(self, name)
            if made is not None:
                return made
            made = fn(self, *args)
            setattr(self, name, made)
            return made
        return wrapper
    return decorate


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    @kept("table")
    def made(self, x):
        print(1)
        return x.sum(0)

    def forward(self, x):
        return x + self.made(x)
"""


@pytest.mark.parametrize("inside", [True, False])
def test_a_decorator_that_keeps_what_a_method_makes_is_one_in_any_file(events, inside) -> None:
    whole = "from parts import *\n\nclass Whole(Part):\n    pass\n"
    found = events(KEPT) if inside else events(whole, everywhere=True, parts=KEPT)
    assert [e.site.untaken for e in found if isinstance(e, Call) and e.qualname == "builtins.print"] == [True]
