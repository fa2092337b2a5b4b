"""Clocks and probes go together with what only serves them; nothing else is left out without saying so."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.static.domain.values import UNKNOWN

HEAD = "import logging\nimport os\nimport time\nfrom time import perf_counter as now\n\nimport torch\n\nlog = logging.getLogger()\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"
GUARD = "not torch.compiler.is_compiling()"


def program(body: str, head: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}{head}\n\ndef f(x):\n{lines}{TAIL}"


@pytest.mark.parametrize(
    "body, guarded",
    [
        ("t0 = time.time()\ny = x * 2\ndt = time.time() - t0\nprint(round(dt, 3))\nreturn y", 2),
        ("t0 = now()\ny = x * 2\nlog.info('took %.3f', now() - t0)\nreturn y", 2),
        ("t0 = time.time()\nt0 = t0 + 1\nreturn x * 2", 1),
        ("total = 0.0\nfor i in range(2):\n    total += time.time()\nreturn x * 2", 1),
        ("used = torch.cuda.memory_allocated() / 2**20\nprint(f'{used:.1f}')\nreturn x * 2", 1),
        ("a = b = time.time()\nc, d = a, b\nreturn x * 2", 1),
        ("if x.ndim > 0: t0 = time.time()\nreturn x * 2", 1),
        ("stamp = time.strftime('%H', time.gmtime())\nprint(stamp)\nreturn x * 2", 1),
    ],
)
def test_reading_the_machine_is_left_out(fixed: Any, runner: Any, body: str, guarded: int) -> None:
    import torch

    source = program(body)
    result = fixed(source)
    assert result.text.count(GUARD) == guarded
    x = torch.ones(4)
    assert torch.equal(runner.eager(result.text, x), x * 2)
    assert runner.compiled(result.text, x, fullgraph=True).graphs == 1


@pytest.mark.parametrize(
    "body, reason",
    [
        ("os.environ['A'] = '1'\nreturn x", "under compile `os.environ['A'] = '1'` is left out"),
        ("os.environ.setdefault('A', '1')\nreturn x", "is left out"),
        ("time.sleep(0)\nreturn x", "under compile `time.sleep(0)` is left out"),
        ("seen = []\nt0 = time.time()\nseen.append(t0)\nreturn x * 2", "under compile `seen.append(t0)` is left out"),
        ("a = [time.time(), stack.pop()]\nreturn x", "under compile `stack.pop()` is left out"),
        ("t0 = time.time()\nlog.setLevel(int(t0))\nreturn x", "is left out"),
        ("try:\n    n = os.path.getsize('missing')\nexcept OSError:\n    x = x * 2\nreturn x", "n = os.path.getsize('missing')"),
        ("try:\n    t = time.time()\n    u = 1 / 0 * t\nexcept ZeroDivisionError:\n    x = x * 2\nreturn x", "u = 1 / 0 * t"),
        ("with open(os.devnull) as file:\n    file.read()\nreturn x", "under compile the whole block is left out"),
    ],
)  # fmt: skip
def test_what_acts_on_other_code_is_not_safe(fixed: Any, body: str, reason: str) -> None:
    source = program(body, "stack = [1]\n")
    result = fixed(source)
    assert any(reason in f.fix.reason for f in result.findings if f.fix is not None and f.fix.safety == "unsafe")
    assert result.text == source


@pytest.mark.parametrize(
    "body, reason",
    [
        ("global start\nstart = time.time()\nreturn x", "`start` is stored where other code may read it"),
        ("class A:\n    made = time.time()\nreturn x * A.made", "`made` is stored where other code may read it"),
        ("t0 = time.time()\ndef g():\n    return t0\nreturn x, g", "`t0` is read in an inner function, which may run later"),
        ("t0 = time.time()\nexec(f'seen.append({t0})')\nreturn x", "what `exec` runs may be a part of the model, which must"
         " run under compile too"),
        ("with open(os.devnull) as file:\n    y = eval(file.read())\nreturn x", "what `eval` runs may be a part of the model"),
        ("t0 = time.time()\nreturn x, locals()", "the function reads its variables by name"),
        ("t0 = time.time()\ndel t0\nreturn x", "`t0` is read in line"),
        ("t0: float\nt0 = time.time()\nx.t, y = time.time(), 1\nreturn x", "`x.t, y` is stored where other code may read it"),
        ("t0 = time.time()\nreturn x * t0", "`t0` is read in line"),
        ("x = time.time()\nreturn x", "`x` is an argument of the function"),
        # Of several names the same is told each time, whatever the order of a set.
        (
            "global h, g, c, e, d, f2, b, k\nh = g = c = e = d = f2 = b = k = time.time()\nreturn x",
            "`b` is stored where other code may read it",
        ),
    ],
)  # fmt: skip
def test_what_is_needed_stays(fixed: Any, body: str, reason: str) -> None:
    result = fixed(program(body))
    reasons = [f.fix.reason for f in result.findings if f.fix is not None]
    assert any(reason.lower() in r.lower() for r in reasons), reasons
    if "t, y" not in body:
        assert result.text == program(body)


TIMER = """
class Timer:
    total = 0.0

    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        {}
"""


def test_a_clock_that_another_method_reads_goes_with_it(fixed: Any, runner: Any) -> None:
    import torch

    source = program(
        "with Timer():\n    y = x * 2\nreturn y", TIMER.format("self.total += time.perf_counter() - self.start")
    )
    result = fixed(source, unsafe=True)
    assert result.text.count(GUARD) == 2 and result.safety("GD402") == "unsafe"
    x = torch.ones(4)
    assert torch.equal(runner.eager(result.text, x), x * 2)
    assert runner.compiled(result.text, x, fullgraph=True).graphs == 1


def test_a_clock_that_another_method_needs_stays(fixed: Any) -> None:
    source = program("with Timer():\n    y = x * 2\nreturn y", TIMER.format("return self.start < 0"))
    result = fixed(source, unsafe=True)
    reasons = [f.fix.reason for f in result.findings if f.fix is not None]
    assert result.text == source and reasons == ["`self.start` is read in line 18, which runs under compile too."]


def test_a_clock_that_a_wrapper_keeps_on_itself_is_left_out(fixed: Any, runner: Any) -> None:
    import torch

    head = "\ndef timed(function):\n    def wrapper(x):\n        t0 = time.time()\n        y = function(x)\n        wrapper.last = time.time() - t0\n        return y\n\n    return wrapper\n\n\n@timed\ndef g(x):\n    return x * 2\n"
    result = fixed(program("return g(x)", head), unsafe=True)
    assert result.text.count(GUARD) == 2 and result.safety("GD402") == "unsafe"
    assert runner.compiled(result.text, torch.ones(4), fullgraph=True).graphs == 1


@pytest.mark.parametrize(("note", "safety"), [("told = True", "unsafe"), ("y = x", "safe")])
def test_not_safe_where_a_flag_says_that_it_was_done(fixed: Any, note: str, safety: str) -> None:
    body = f"global told\nif not told:\n    {note}\n    print(time.time())\nreturn x * 2"
    assert fixed(program(body, "told = False\n")).safety("GD402") == safety


KEPT = """\
import bisect

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.places, self.index, self.start = [1.0, 2.0], 0, 0

    @torch.compiler.disable
    def prepare(self, x):
        self.start = len(x) // 2

    def find(self, x):
        self.index = bisect.bisect(self.places, x.sum())

    def forward(self, x):
        self.prepare(x)
        self.find(x)
        return self.step(x)

    def step(self, x):
        self.index += 1
        return x[self.start] * self.index
"""


def test_what_other_methods_read_is_not_left_out(fixed: Any) -> None:
    result = fixed(KEPT, unsafe=True)
    reasons = {f.rule: f.fix.reason for f in result.findings if f.fix is not None and f.rule in ("GD405", "GD508")}
    assert result.text == KEPT
    assert reasons["GD405"].startswith("`self.index` is read in line 25, which runs under compile too")
    assert reasons["GD508"] == "The function does more than output, so it must run under compile too."


TIMINGS = """
class Timed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.timings = {{"double": 0.0}}

    def forward(self, x):
        t0 = time.perf_counter()
        y = x * 2
        {}
        return y

    def report(self):
        return dict(self.timings)
"""


def test_a_clock_that_is_added_up_for_a_report_is_left_out(fixed: Any, runner: Any) -> None:
    import torch

    head = TIMINGS.format('self.timings["double"] += time.perf_counter() - t0') + "\n\nmodel = Timed()\n"
    result = fixed(program("return model(x)", head), unsafe=True)
    assert result.text.count(GUARD) == 2 and result.safety("GD402") == "unsafe"
    reasons = [f.fix.reason for f in result.findings if f.fix is not None]
    left_out = 'under compile `self.timings["double"] += time.perf_counter() - t0` is left out'
    assert any(left_out in reason for reason in reasons), reasons
    x = torch.ones(4)
    assert torch.equal(runner.eager(result.text, x), x * 2)
    assert runner.compiled(result.text, x, fullgraph=True).graphs == 1


@pytest.mark.parametrize(
    "line, reason",
    [
        (
            'self.timings["double"] += time.perf_counter() - t0; y = y * self.timings["double"]',
            '`self.timings["double"]` is stored where other code may read it.',
        ),
        (
            "self.timings[self.report.__name__.upper()] = time.perf_counter() - t0",
            "`self.timings[self.report.__name__.upper()]` is stored where other code may read it.",
        ),
        (
            'self.timings["double"] = time.perf_counter() - t0; y = y * len(self.report())',
            '`self.timings["double"]` is read in line 23, which runs under compile too.',
        ),
    ],
)
def test_what_is_added_up_and_needed_stays(fixed: Any, line: str, reason: str) -> None:
    head = TIMINGS.format("\n        ".join(line.split("; "))) + "\n\nmodel = Timed()\n"
    result = fixed(program("return model(x)", head), unsafe=True)
    assert reason in [f.fix.reason for f in result.findings if f.fix is not None]


def test_what_runs_a_model_on_several_gpus_is_not_left_out(refusal: Any) -> None:
    from graphdoctor.lint import catalog

    (rule,) = (rule for rule in catalog.rules() if rule.code == "GD517")
    body = "return torch.nn.parallel.data_parallel(torch.nn.ReLU(), x)"
    assert (
        refusal(rule.fix, body, (cst.Call, "data_parallel"), UNKNOWN)
        == "The call computes what the code after it needs."
    )
