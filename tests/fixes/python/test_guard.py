"""Output under a guard: eager prints, compile does not break."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from graphdoctor.fixes.python.guard import guard_statement

TARGET = (
    "import torch\n\nit = iter(range(9))\n\n\ndef f(x):\n    {line}\n    return x\n\n\n"
    "def graphdoctor_target():\n    return f, (torch.rand(4),)\n"
)


@pytest.mark.parametrize(
    "head, line, marker",
    [
        ("", 'print("x", x.shape)', "print"),
        ("import logging\nlogger = logging.getLogger(__name__)\n", 'logger.warning("a %s", x.shape)', "logger.warning"),
        ("import warnings\n", 'warnings.warn("a")', "warnings.warn"),
        ("import sys\n", 'sys.stdout.write("a")', "sys.stdout"),
    ],
)
def test_guarded_output_no_longer_breaks(make: Any, runner: Any, head: str, line: str, marker: str) -> None:
    import torch

    source = f"{head}def f(x):\n    y = x * 2\n    {line}\n    return y + 1\n"
    x = torch.rand(4)
    assert runner.compiled(source, x).breaks > 0
    after = make(source, marker=marker).after(guard_statement)
    assert runner.compiled(after, x).breaks == 0
    result = runner.compiled(after, x, fullgraph=True)
    assert result.graphs == 1 and torch.equal(result.value, runner.eager(source, x))


def test_what_is_called_in_adjacent_strings_is_known(fixed: Any) -> None:
    line = 'print(\n        f"shape {tuple(x.shape)}, "\n        f"least {x.min():.4f}"\n    )'
    guarded = fixed(TARGET.format(line=line)).text
    assert f"\n    if not torch.compiler.is_compiling():\n{indent(f'    {line}', '    ')}\n" in guarded
    assert "is_compiling" not in fixed(TARGET.format(line='print(f"a" f"{next(it)}")')).text


def test_eager_still_prints(make: Any, runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    source = 'def f(x):\n    print("seen", x)\n    return x\n'
    runner.eager(make(source).after(guard_statement), 3)
    assert capsys.readouterr().out == "seen 3\n"


def test_safe_unless_an_argument_may_have_an_effect(fixed: Any) -> None:
    safe = fixed(TARGET.format(line="print(x.mean(), len(x), x.abs().max().item())"))
    assert safe.safety("GD101") == "safe"
    assert "if not torch.compiler.is_compiling():\n        print(x.mean()" in safe.text
    unsafe = fixed(TARGET.format(line="print(next(it))"))
    assert unsafe.findings[0].fix.safety == "unsafe"
    reason = "Under compile `print(...)` is left out, and `next(it)` does not run either."
    assert unsafe.findings[0].fix.reason == reason


@pytest.mark.parametrize(
    ("body", "safety"),
    [
        ("if 'a' not in seen:\n        seen.add('a')\n        print('a')", "unsafe"),
        ("if seen.get('a') is None:\n        seen['a'] = 1\n        print('a')", "unsafe"),
        ("if state.told:\n        return x\n    state.told = True\n    print('a')", "unsafe"),
        ("global done\n    if not done:\n        done = True\n        print('a')", "unsafe"),
        ("if state.told:\n        print('a')\n    seen['b'] = 1", "safe"),
        ("state.told = False\n    print('a')", "safe"),
    ],
)
def test_not_safe_where_a_flag_says_that_it_was_given(fixed: Any, body: str, safety: str) -> None:
    head = "import types\n\ndone, seen, state = False, dict(b=1), types.SimpleNamespace(told=False)\n"
    head = head.replace("dict(b=1)", "set()") if "seen.add" in body else head
    assert fixed(head + TARGET.format(line=body)).safety("GD101") == safety


def test_not_safe_where_the_file_reads_its_line_numbers(fixed: Any) -> None:
    source = TARGET.format(line="print(x)").replace("return x", "return x * inspect.currentframe().f_lineno")
    assert fixed("import inspect\n" + source).safety("GD101") == "unsafe"


def test_not_safe_where_torchscript_would_compile_the_guard(fixed: Any) -> None:
    source = TARGET.format(line="print(x)") + "\n\nscripted = torch.jit.script(f)\n"
    assert fixed(source).safety("GD101") == "unsafe"


def test_safe_only_where_it_is_for_all_calls_of_the_function(fixed: Any) -> None:
    source = (
        "import torch\n\n\nclass Sum:\n    total = 0.0\n\n    def mul(self, by):\n        self.total += by\n"
        "        return self\n\n\ndef g(a, x):\n    print(a.mul(2.0))\n    return x\n\n\ndef f(x):\n"
        "    return {calls}\n\n\ndef graphdoctor_target():\n    return f, (torch.rand(4),)\n"
    )
    assert fixed(source.format(calls="g(x, x)")).safety("GD101") == "safe"
    assert fixed(source.format(calls="g(x, x) + g(Sum(), x)")).safety("GD101") == "unsafe"


@pytest.mark.parametrize(
    "body, reason",
    [
        ("y = print(x)", "The value of this call is used, so it cannot be put under a guard."),
        ("[print(i) for i in x]", "The value of this call is used, so it cannot be put under a guard."),
        ("print(y := x)", "The arguments assign y, which later code may read."),
        ("print((yield x))", "The statement awaits or yields, so it must run under compile too."),
    ],
)
def test_refusals(make: Any, body: str, reason: str) -> None:
    assert make(f"def f(x):\n    {body}\n", marker="print").refusal(guard_statement) == reason


def test_refusal_of_await(make: Any) -> None:
    reason = make("async def f(x):\n    print(await x)\n", marker="print").refusal(guard_statement)
    assert reason == "The statement awaits or yields, so it must run under compile too."


def test_refusal_of_shadowed_torch(make: Any) -> None:
    reason = make("torch = None\ndef f(x):\n    print(x)\n", marker="print").refusal(guard_statement)
    assert reason == "No guard is added: the name torch stands for something else in this file."
