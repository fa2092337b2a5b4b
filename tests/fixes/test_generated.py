"""Generated programs: a fix that is called safe leaves them what they were; and what the comparison sees, it sees."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphdoctor.cli import cli

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.fix_safety.batches import checked_batch
from benchmarks.fix_safety.check import Checked, check_on
from benchmarks.fix_safety.fixing import Fixed, statically_fixed
from benchmarks.fix_safety.grammar.programs import drafted, program
from benchmarks.fix_safety.inputs import Alias, Input, TensorSpec, inputs_for
from benchmarks.fix_safety.program import Program
from benchmarks.fix_safety.reduce import reduced
from benchmarks.fix_safety.report import shown, table

PROGRAMS, BATCH, INPUTS = 200, 100, 8

#: What programs warn of is recorded and compared.
pytestmark = pytest.mark.filterwarnings("ignore")

X = TensorSpec("float32", (2, 3), "normal", requires_grad=True)


@pytest.fixture(scope="module")
def checked() -> list[Checked]:
    return [one for start in range(0, PROGRAMS, BATCH) for one in checked_batch((range(start, start + BATCH), INPUTS))]


def test_safe_fixes_change_nothing(checked: list[Checked]) -> None:
    wrong = [one for one in checked if one.found]
    assert not wrong, "\n\n".join([table(checked), *map(shown, wrong[:5])])


def test_many_programs_are_changed_and_run(checked: list[Checked]) -> None:
    """An empty comparison would pass, too."""
    changed = [one for one in checked if one.fixed.text != one.fixed.program.text]
    assert len(changed) > 0.35 * len(checked)
    assert sum(one.ran >= INPUTS / 3 for one in changed) > 0.7 * len(changed)
    assert {"GD101", "GD201"} <= {rule for one in changed for rule in one.fixed.rules}


def test_a_program_is_no_other_in_a_second_run() -> None:
    """What would differ by itself, such as an address in a text, would be put down to a fix."""
    for seed in range(0, PROGRAMS, 3):
        made = program(seed)
        again = check_on(Fixed(made, made.text), inputs_for(made.arguments, seed, 4))
        assert not again.found, shown(again)


def test_every_hole_is_in_the_grammar() -> None:
    rng = random.Random(0)
    made = [drafted(rng, "drafted") for _ in range(2000)]
    features = {feature for one in made if one is not None for feature in one.features}
    assert features >= {
        "names of any type", "arms of any type", "Python arms", "stateful condition", "chained comparison", "elif",
        "boolean operators", "sharp arm", "reduced arms", "other shape", "view arms", "threshold", "submodule",
        "broadcasting condition", "several targets", "attribute assigned", "called arm", "closure", "globals()",
        "frames", "pow", "callable", "copies", "host", "progress bar", "side effect in output", "shadowed output",
        "aimed at proofs", "inline choice", "a number chosen", "odd targets", "match", "assignment expression", "layout",
        "odd text", "torch renamed", "check", "array function", "while", "conversion", "mask", "state", "in-place side", "membership",
    }  # fmt: skip


def compared(before: str, after: str, head: str = "", given: Input | None = None) -> Checked:
    """Two functions or modules, given as the lines of their bodies, on one input."""
    texts = [
        f"{head}\n\ndef f(x, *more):\n" + "".join(f"    {line}\n" for line in b.split("\n")) for b in (before, after)
    ]
    return check_on(Fixed(Program("planted", texts[0], "f", ("tensor",)), texts[1]), [given or Input(((X,),))])


HEAD = """
import collections, io, itertools, logging, os, queue, random, sys, warnings
import numpy as np
import torch
from torch import nn
STATE = []
BUF = io.StringIO()
IT = iter(range(9))
NUMBERS = itertools.count()
QUEUE = queue.Queue()
BUFFER = torch.zeros(3)
PARAMETER = nn.Parameter(torch.ones(3))
class Held:
    value = 1
    def __init__(self):
        self.list = [1, 2]
HELD = Held()
LOG = logging.getLogger("planted")
"""

#: What two programs do, and the kind of the difference.
PLANTED = {
    "another value": ("return x * 2", "return x * 3", "value"),
    "the last bit": ("return x * 0.1", "return x * 0.1 * (1 + 2**-23)", "value"),
    "the sign of zero": ("return x * 0", "return -(x * 0)", "value"),
    "NaN": ("return x * 0", "return x * 0 / 0", "value"),
    "one infinity for the other": ("return x.abs() / 0", "return -x.abs() / 0", "value"),
    "a number": ("return 1.0", "return 2.0", "value"),
    "an int for a float": ("return 1", "return 1.0", "type or dtype"),
    "a tensor for a number": ("return 1.0", "return torch.tensor(1.0)", "type or dtype"),
    "a tuple for a list": ("return [x]", "return (x,)", "type or dtype"),
    "dtype": ("return x.detach()", "return x.detach().double()", "type or dtype"),
    "a parameter": ("return x.detach()[0] * 1", "return nn.Parameter(x.detach()[0] * 1)", "type or dtype"),
    "shape": ("return x.sum()", "return x.sum().reshape(1)", "shape"),
    "device": ("return torch.ones(3)", "return torch.ones(3, device='meta')", "device"),
    "requires_grad": ("return x * 2", "return x.detach() * 2", "requires_grad"),
    "gradient": ("return x * x", "return x * x.detach()", "gradient"),
    "zeros for no gradient": ("return PARAMETER * 1", "return PARAMETER * 1 + x.sum() * 0", "gradient"),
    "NaN gradient": (
        "return x.abs() + 1", "return torch.where(x.abs() < 9, x.abs() + 1, (x.detach() * 0 * x).sqrt())", "gradient",
    ),
    "no backward": ("y = x.exp()\nreturn y", "y = x.exp()\ny.data.add_(0)\nz = y.detach()\nz.add_(1)\nreturn z.sub_(1) + y - y.detach()", "gradient"),
    "identity of the argument": ("return x", "return x[...]", "identity or aliasing"),
    "a view": ("return x[:1]", "return x[:1] * 1", "identity or aliasing"),
    "a view of state": ("return BUFFER[:1]", "return BUFFER[:1].clone()", "identity or aliasing"),
    "two results in one memory": ("y = x * 2\nreturn y, y[0]", "y = x * 2\nreturn y, y[0] * 1", "identity or aliasing"),
    "one list twice": ("y = []\nreturn y, y", "return [], []", "identity or aliasing"),
    "an array of the memory": (
        "y = x.detach()\nreturn y.numpy()", "y = x.detach()\nreturn y.numpy().copy()", "identity or aliasing",
    ),
    "an exception": ("return x", "raise ValueError('x')", "exception"),
    "a write to the argument": ("x = x.detach()\nx.add_(1)\nreturn 1", "return 1", "state"),
    "a global": ("global COUNT\nCOUNT = 1\nreturn x * 1", "global COUNT\nCOUNT = 2\nreturn x * 1", "state"),
    "a new global": ("return x * 1", "global COUNT\nCOUNT = 2\nreturn x * 1", "state"),
    "a list": ("STATE.append(1)\nreturn 1", "return 1", "state"),
    "an attribute": ("HELD.list.append(1)\nreturn 1", "return 1", "state"),
    "an attribute of a class": ("Held.value = 2\nreturn 1", "return 1", "state"),
    "a stream in memory": ("BUF.write('a')\nreturn 1", "return 1", "state"),
    "an iterator": ("next(IT)\nreturn 1", "return 1", "state"),
    "a counter": ("next(NUMBERS)\nreturn 1", "return 1", "state"),
    "a queue": ("QUEUE.put(1)\nreturn 1", "return 1", "state"),
    "a buffer": ("BUFFER.add_(1)\nreturn 1", "return 1", "state"),
    "grad mode": ("PARAMETER.requires_grad_(False)\nreturn 1", "return 1", "requires_grad"),
    "torch's generator": ("torch.rand(1)\nreturn 1", "return 1", "random state"),
    "Python's generator": ("random.random()\nreturn 1", "return 1", "random state"),
    "numpy's generator": ("np.random.rand()\nreturn 1", "return 1", "random state"),
    "the environment": ("os.environ['GD_FIX'] = '1'\nreturn 1", "return 1", "environment"),
    "a filter of warnings": ("warnings.simplefilter('ignore')\nreturn 1", "return 1", "environment"),
    "the level of a logger": ("logging.disable(20)\nreturn 1", "return 1", "environment"),
    "the grad mode": ("torch.set_grad_enabled(False)\nreturn 1", "return 1", "environment"),
    "the default dtype": ("torch.set_default_dtype(torch.float64)\nreturn 1", "return 1", "environment"),
    "a hook": ("x.register_hook(lambda g: STATE.append(1))\nreturn x * 1", "return x * 1", "state"),
    "print": ("print('a')\nreturn 1", "print('b')\nreturn 1", "output"),
    "stderr": ("print('a', file=sys.stderr)\nreturn 1", "return 1", "output"),
    "a log record": ("LOG.info('a')\nreturn 1", "LOG.warning('a')\nreturn 1", "output"),
    "a warning": ("warnings.warn('a')\nreturn 1", "return 1", "output"),
    "a warning of torch": (
        "c = (x > 0).byte()\nreturn x.masked_fill(c.bool(), 0)", "c = (x > 0).byte()\ntorch.where(c, x, x)\nreturn x.masked_fill(c.bool(), 0)",
        "output",
    ),
    "the order of output": ("print(1)\nprint(2)\nreturn 1", "print(2)\nprint(1)\nreturn 1", "output"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_seen(name: str) -> None:
    before, after, kind = PLANTED[name]
    assert not compared(before, before, HEAD).found
    assert kind in compared(before, after, HEAD).kinds


@pytest.mark.parametrize(
    "before, after",
    [
        ("return x * 2", "y = x + x\nreturn y"),
        ("return x * float('nan')", "return x * 0 / 0 * float('nan')"),
        ("raise ValueError", "return 1"),
        ("return (x.detach() > 0, float(x.sum()))[0]", "return x.detach() > 0"),
        ("return (x * 1 + x * 2) + x * 3", "return x * 1 + (x * 2 + x * 3)"),
        ("return {'a': [x, (x, 1)]}", "y = dict(a=[x, (x, 1)])\nreturn y"),
    ],
)
def test_what_is_no_difference_is_none(before: str, after: str) -> None:
    """Another way to the same; other bits of a gradient's rounding; inputs that the original refuses."""
    given = Input(((TensorSpec("float32", (2, 3), "constant", requires_grad=True),),))
    assert not compared(before, after, HEAD, given).found


def test_the_second_call_is_compared_too() -> None:
    before = "STATE.append(1)\nreturn len(STATE) if len(STATE) < 2 else x * 1"
    after = "STATE.append(1)\nreturn len(STATE) if len(STATE) < 2 else x"
    assert not compared(before, after, HEAD).found
    assert compared(before, after, HEAD, Input(((X,), (X,)))).kinds == ("gradient", "identity or aliasing")


@pytest.mark.parametrize(
    "caller, call",
    [
        ("no_grad", "not torch.is_grad_enabled()"),
        ("inference_mode", "torch.is_inference_mode_enabled()"),
        ("autocast", "torch.is_autocast_enabled('cpu')"),
        ("float64 by default", "torch.get_default_dtype() == torch.float64"),
    ],
)
def test_callers_with_settings_of_torch(caller: str, call: str) -> None:
    given = Input(((X,),), caller)
    assert compared(f"return {call}", "return False", HEAD, given).found
    assert not compared(f"return {call}", "return True", HEAD, given).found
    assert not compared(f"return {call}", "return False", HEAD).found


@pytest.mark.parametrize(
    "layout, is_kept",
    [
        ("transposed", "x.T.is_contiguous() and not x.is_contiguous()"),
        ("strided", "not x.is_contiguous() and x.stride(1) == 2"),
        ("expanded", "x.stride(0) == 0"),
        ("non-leaf", "not x.is_leaf"),
        ("parameter", "isinstance(x, nn.Parameter)"),
        ("subclass", "type(x) is not torch.Tensor"),
    ],
)
def test_layouts_of_inputs(layout: str, is_kept: str) -> None:
    given = Input(((TensorSpec("float32", (2, 3), "normal", requires_grad=True, layout=layout),),))
    assert not compared(f"return {is_kept}", "return True", HEAD, given).found


@pytest.mark.parametrize("how, differs", [("same", True), ("detached", False), ("view", False)])
def test_arguments_that_are_aliases(how: str, differs: bool) -> None:
    given = Input(((X, Alias(0, how)),))
    assert bool(compared("return more[0] is x", "return False", HEAD, given).found) is differs


NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.steps = 0
        self.last = None
        self.seen = []
        self.register_buffer("total", torch.zeros(()))
    def forward(self, x):
        {line}
        return self.norm(x)
"""


@pytest.mark.parametrize(
    "line, kind",
    [
        ("self.steps += 1", "state"),
        ("self.last = x", "identity or aliasing"),
        ("self.seen.append(x.shape)", "state"),
        ("self.total.add_(1)", "state"),
        ("self.total = self.total + 1", "identity or aliasing"),
        ("x = self.norm(x)", "value"),
        ("self.eval()", "state"),
        ("self.added = nn.Linear(1, 1)", "state"),
        ("x = x + self.fc(x) * 0", "gradient"),
        ("self.fc = self.norm", "identity or aliasing"),
    ],
)
def test_state_of_modules_is_compared(line: str, kind: str) -> None:
    texts = [NET.replace("{line}", one) for one in ("pass", line)]
    made = Program("planted", texts[0], "Net", ("tensor",))
    given = [Input(((X,), (X,)))]
    assert not check_on(Fixed(made, texts[0]), given).found
    kinds = check_on(Fixed(made, texts[1]), given).kinds
    assert kind in kinds, kinds


def test_a_guard_that_drops_more_than_output_is_seen() -> None:
    """What is printed goes under compile; what an argument of print does must not."""
    head = "import torch\nIT = iter(range(9))\n\ndef f(x):\n"
    guard = "    if not torch.compiler.is_compiling():\n    "
    for shown_value, kinds in (("x.shape", ()), ("next(IT)", ("state, compiled",))):
        made = Program("guarded", f"{head}    print({shown_value})\n    return x\n", "f", ("tensor",))
        fixed = Fixed(made, f"{head}{guard}    print({shown_value})\n    return x\n")
        assert check_on(fixed, [Input(((X,),))]).kinds == kinds


def test_the_fixes_are_those_that_a_scan_writes(tmp_path: Path) -> None:
    made = [program(seed) for seed in range(20)]
    for one in made:
        (tmp_path / f"{one.name}.py").write_bytes(one.text.encode())
    CliRunner().invoke(cli, ["scan", str(tmp_path), "--no-run", "--fix", "--isolated"])
    written = [(tmp_path / f"{one.name}.py").read_bytes().decode() for one in made]
    assert [fixed.text for fixed in statically_fixed(made)] == written
    assert any(fixed.rules for fixed in statically_fixed(made))


def test_a_difference_is_shown_in_a_smaller_program() -> None:
    lines = ["print(x.shape)", "keep = x * 1", "if x.ndim:", "    y = x + keep", "    print(1)", "z = 3", "return y"]
    text = "import torch\n\n\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines)

    def wrong_fix(programs: Sequence[Program]) -> list[Fixed]:
        return [Fixed(one, one.text.replace("x + keep", "x - keep"), ("GD000",)) for one in programs]

    (fixed,) = wrong_fix([Program("long", text, "f", ("tensor",))])
    smaller = reduced(check_on(fixed, [Input(((X,),))]), wrong_fix)
    assert smaller.kinds == ("gradient", "value")
    assert smaller.fixed.program.text == "def f(x):\n    keep = x * 1\n    y = x + keep\n    return y\n"


def test_a_view_of_inference_mode_that_was_written_to_outside_it_can_be_compared() -> None:
    body = "y = x * 1\nwith torch.inference_mode():\n    z = y[0]\ny.add_(1)\nreturn z"
    assert not compared(body, body, "import torch").found
