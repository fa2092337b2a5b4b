"""Checks that raise: unchanged in eager, part of the graph under compile."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from graphdoctor.fixes.branches.asserts import assert_in_graph, constant_message
from graphdoctor.static.rule import FixPlan

HEAD = "import torch\nimport math\nLIMIT = 'too small'\n\n\ndef f(x: torch.Tensor, flag=True):\n"

RAISES = {
    "any": 'if torch.isnan(x).any():\n    raise ValueError("NaN")',
    "not all": 'if not (x > 0).all():\n    raise ValueError(f"not positive: {x.min()}")',
    "item": 'if (x < 0).any().item():\n    raise ValueError("negative")',
    "or": 'if torch.isnan(x).any() or torch.isinf(x).any():\n    raise RuntimeError("%s" % x)',
    "python part": 'if flag and (x < 0).any():\n    raise ValueError("negative")',
    "math": 'if math.isnan(x.sum()):\n    raise ValueError("NaN")',
    "numpy of a number": 'import numpy as np\nif not np.isfinite(x.sum().item()):\n    raise ValueError("NaN")',
    "no message": "if (x < 0).any():\n    raise ValueError",
    "message in a name": 'if (x < 0).any():\n    msg = f"negative: {x.min()}"\n    raise ValueError(msg)',
    "several names": 'if (x < 0).any():\n    least = x.min()\n    msg = f"negative: {least}"\n    raise ValueError(msg)',
    "one line": 'if (x < 0).any(): raise ValueError("negative")',
    "from": 'if (x < 0).any():\n    raise ValueError("negative") from None',
    "elif": 'if not flag:\n    x = x + 1\nelif (x < 0).any():\n    raise ValueError("negative")',
}
ASSERTS = {
    "f-string": 'assert (x > 0).all(), f"min is {x.min()}"',
    "format": 'assert (x > 0).all(), "min is {}".format(x.min())',
    "percent": 'assert (x > 0).all(), "min is %s" % x.min()',
    "name": "assert (x > 0).all(), LIMIT",
    "not": "assert not (x < 0).any()",
    "and": 'assert (x > 0).all() and x.sum() > 1, "sum"',
    "python and tensor": 'assert flag and (x > 0).all(), f"a {flag}"',
    "item": 'assert (x > 0).all().item(), "positive"',
    "chained": 'assert 0 < x.sum() < 100, "range"',
    "float": 'assert not torch.isnan(x).any() and x.sum(), "sum"',
}

MORE = "The branch does more than raise, so it cannot become a check inside the graph."
ELSE = "The check has an else branch, so it cannot be made inside the graph."


def source_of(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in [*body.split("\n"), "return x * 2"])


def kind_of(body: str) -> type[cst.CSTNode]:
    return cst.Assert if body.startswith("assert") else cst.If


@pytest.mark.parametrize("body", [*RAISES.values(), *ASSERTS.values()], ids=[*RAISES, *ASSERTS])
def test_good_input_compiles_to_one_graph_and_bad_input_raises(make: Any, runner: Any, body: str) -> None:
    import torch

    source = source_of(body)
    rewrite = constant_message if kind_of(body) is cst.Assert else assert_in_graph
    case = make(source, cst.If, marker="elif") if "elif" in body else make(source, kind_of(body))
    if "elif" in body:
        inner = case.hit.event.branch.orelse
        plan = rewrite(inner, case.hit, case.editor)
        from graphdoctor.fixes.core.apply import apply

        after = apply(source, plan.edits)
    else:
        after = case.after(rewrite)
    good, bad = torch.rand(4) + 1, torch.tensor([-9.0, 1.0, float("nan"), 1.0])
    assert runner.compiled(source, good).breaks > 0
    assert torch.equal(runner.eager(after, good), good * 2)
    for fullgraph in (False, True):
        result = runner.compiled(after, good, fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        assert torch.equal(result.value, good * 2)
        with pytest.raises(RuntimeError):
            runner.compiled(after, bad, fullgraph=fullgraph)
    with pytest.raises(Exception) as original:
        runner.eager(source, bad)
    with pytest.raises(type(original.value)) as fixed:
        runner.eager(after, bad)
    assert str(fixed.value) == str(original.value)


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (
            'assert torch.all(\n    x > 0\n), f"bad {x}"',
            ["        assert torch.all(", "            x > 0", '        ), "bad `x`"'],
        ),
        (
            'if flag and torch.any(\n    x > 0\n):\n    raise ValueError("bad")',
            ["            torch._assert_async(~torch.any(", "                x > 0", '            ), "bad")'],
        ),
    ],
)
def test_a_test_of_several_lines_is_as_deep_as_its_first_line(make: Any, body: str, rows: list[str]) -> None:
    kind, rewrite = (cst.If, assert_in_graph) if body.startswith("if") else (cst.Assert, constant_message)
    assert "\n".join(rows) in make(source_of(body), kind).after(rewrite)


def test_text_and_safety(make: Any) -> None:
    case = make(source_of(RAISES["not all"]), cst.If)
    plan = case.run(assert_in_graph)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe" and "RuntimeError" in plan.reason
    assert '        torch._assert_async((x > 0).all(), "not positive: `x.min()`")\n' in case.after(assert_in_graph)
    plan = make(source_of(ASSERTS["f-string"]), cst.Assert).run(constant_message)
    assert isinstance(plan, FixPlan) and plan.safety == "unsafe"
    assert "raises RuntimeError, not AssertionError" in plan.reason


def test_a_message_in_a_name_is_said_in_the_graph_too(make: Any) -> None:
    body = 'if (x < 0).any():\n    msg = f"bad {x.min()}"\n    raise ValueError(msg)'
    after = make(source_of(body), cst.If).after(assert_in_graph)
    check = '    if torch.compiler.is_compiling():\n        torch._assert_async(~(x < 0).any(), "bad `x.min()`")\n'
    assert check + "    elif (x < 0).any():\n" in after


@pytest.mark.parametrize(
    ("exception", "known"),
    [("ValueError('NaN')", ()), ("AssertionError", ()), ("FloatingPointError('NaN')", ("exception",))],
)
def test_an_exception_that_callers_handle_by_its_type_is_known_to_be_another(
    make: Any, exception: str, known: tuple[str, ...]
) -> None:
    plan = make(source_of(f"if torch.isnan(x).any():\n    raise {exception}"), cst.If).run(assert_in_graph)
    assert isinstance(plan, FixPlan) and plan.known == known


@pytest.mark.parametrize(
    "message, text",
    [
        ('f"a {x!r:>4} {{b}} \\n"', '"a `x` {b} \\n"'),
        ('rf"a\\d {x}"', '"a\\\\d `x`"'),
        ('"a" f" {x}"', '"a `x`"'),
        ('"a " + str(x)', '"a "'),
        ("f'say \"{x}\"'", "'say \"`x`\"'"),
        ("str(x)", '"assertion failed: x.any()"'),
        ("'at step %d of %5.2f%%' % (x.sum(), 2)", '"at step `x.sum()` of `2`%"'),
    ],
)
def test_constant_part_of_messages(make: Any, message: str, text: str) -> None:
    import ast

    after = make(source_of(f"assert x.any(), {message}"), cst.Assert).after(constant_message)
    line = next(line for line in after.splitlines() if "assert x.any()" in line).strip()
    assert ast.literal_eval(line.removeprefix("assert x.any(), ")) == ast.literal_eval(text)


@pytest.mark.parametrize(
    "body, reason",
    [
        ("if x.any():\n    x = x + 1", MORE),
        ("if x.any():\n    print(x)\n    raise ValueError", MORE),
        ("if x.any():\n    raise", MORE),
        ("if x.any():\n    x += 1\n    raise ValueError", MORE),
        ("if x.any():\n    x[0] = 1\n    raise ValueError", MORE),
        ("if x.any():\n    raise ValueError\nelse:\n    x = x + 1", ELSE),
        ("if flag:\n    raise E", "The check is left as it is: it is not clear which part of `flag` is tensor data."),
        ("if x.any() or flag:\n    raise", MORE),
        (
            "if x.any() or flag:\n    raise ValueError",
            "The check is left as it is: it is not clear which part of `x.any() or flag` is tensor data.",
        ),
        (
            "torch = x\nif x.any():\n    raise ValueError",
            "The check is left as it is: the name torch is bound to something local in this function.",
        ),
        ("assert x.any(); y = 1", "The assert is left as it is: it shares its line with other code."),
        ("assert flag, f'{x}'", "The assert is left as it is: it is not clear which part of `flag` is tensor data."),
        ("assert (y := x.any()), f'{x}'", "The assert is left as it is: its test assigns, awaits or yields."),
    ],
)  # fmt: skip
def test_refusals(make: Any, body: str, reason: str) -> None:
    kind = cst.Assert if "assert" in body else cst.If
    assert make(source_of(body), kind).refusal(constant_message if kind is cst.Assert else assert_in_graph) == reason


TEXTS = """\
import torch


def f(x: torch.Tensor, name: str = "x"):
    for kind, t in (("first", x), ("second", x * 2)):
        if (t < -{limit}).any():
            raise ValueError(f"{{{put_in}}} is too small")
    return x * 2
"""


@pytest.mark.parametrize(
    ("put_in", "message"),
    [
        ("kind", 'f"{kind} is too small"'),
        ("name", 'f"{name} is too small"'),
        ("x.dtype", '"`x.dtype` is too small"'),
        ("name!r", '"`name` is too small"'),
    ],
)
def test_texts_of_a_trace_stay_in_the_message(make: Any, runner: Any, put_in: str, message: str) -> None:
    import torch

    case = make(TEXTS.format(limit=1, put_in=put_in), cst.If)
    after = case.after(assert_in_graph)
    assert f", {message})" in after
    assert runner.compiled(after, torch.rand(3)).breaks == 0
    with pytest.raises(RuntimeError, match="is too small"):
        runner.compiled(after, -torch.ones(3) * 5)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ('"{} of {}".format(flag, x.sum())', "`flag` of `x.sum()`"),
        ('"{1:.2f} {{0}} {n}".format(flag, x, n=x.min())', "`x` {0} `x.min()`"),
        ('"{} {x.dtype} {}".format(*flag)', "{} {x.dtype} {}"),
        ('"{} {} {5} {y}".format(x)', "`x` {} {5} {y}"),
    ],
)
def test_the_text_says_what_format_puts_in(make: Any, message: str, text: str) -> None:
    case = make(source_of(f"assert (x > 0).all(), {message}"), cst.Assert)
    plan = case.run(constant_message)
    assert isinstance(plan, FixPlan) and any(f'"{text}"' in edit.text for edit in plan.edits)


@pytest.mark.parametrize(
    "body, line",
    [
        ("assert not x.isnan().any()  # finite", "    assert ~x.isnan().any()  # finite\n"),
        ("assert not (x < 0).any(), \\\n    'negative'", "    assert ~(x < 0).any(), \\\n        'negative'\n"),
    ],
)
def test_a_negated_tensor_is_asserted_in_one_line(make: Any, runner: Any, body: str, line: str) -> None:
    import torch

    source = source_of(body)
    after = make(source, cst.Assert).after(constant_message)
    assert line in after and "is_compiling" not in after
    good, bad = torch.rand(3), torch.tensor([-1.0, float("nan")])
    assert runner.compiled(after, good, fullgraph=True).graphs == 1
    errors = []
    for text in (source, after):
        with pytest.raises(AssertionError) as raised:
            runner.eager(text, bad)
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "body", ["assert not flag", "assert not (x < 0).any(), f'{x}'", "m = x < 0\nassert not m.any() and flag"]
)
def test_what_may_be_a_bool_of_python_keeps_not(make: Any, body: str) -> None:
    source = source_of(body).replace("flag=True", "flag: torch.BoolTensor")
    assert "    assert not" in make(source, cst.Assert).after(constant_message)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ('assert (x < 0).sum().item() == 0, "negative"', 'assert (x < 0).sum() == 0, "negative"'),
        ('assert (\n    x < 0\n).sum().item() < 1, (\n    "neg" "ative"\n)', None),
        ("assert x.sum().item() > 2", "assert x.sum() > 2"),
    ],
)
def test_a_number_that_is_checked_stays_a_tensor(fixed: Any, runner: Any, body: str, after: str | None) -> None:
    import torch

    source = source_of(body) + "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4) + 1,)\n"
    made = fixed(source, unsafe=True)
    expected = source.replace(".item()", "") if after is None else source.replace(body, after)
    assert made.text == expected != source
    x = torch.rand(4) + 1
    assert runner.compiled(made.text, x, fullgraph=True).breaks == 0
    for run in (runner.eager, runner.compiled):
        assert torch.equal(getattr(run(made.text, x), "value", run(source, x)), runner.eager(source, x))
        with pytest.raises((AssertionError, RuntimeError)):
            run(made.text, -x)
    with pytest.raises(AssertionError):
        runner.eager(made.text, -x)


@pytest.mark.parametrize(
    "body",
    [
        "assert x.sum().item() > 0.3",
        'assert x.sum().item() > 2, f"of {len(x)}"',
        "assert x.sum().item() > 70000",
        "assert x.char().sum().item() < 200",
        "assert x.sum().item() is not 1",
    ],
)
def test_a_number_that_the_tensor_may_round_stays_one_in_eager(fixed: Any, body: str) -> None:
    source = source_of(body) + "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4) + 1,)\n"
    assert f"else:\n        {body}" in fixed(source, unsafe=True).text
