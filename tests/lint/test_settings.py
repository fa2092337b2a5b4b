"""What Dynamo is told to record is no finding."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

import pytest

from graphdoctor.lint.catalog import holding, rules
from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Finding

NUMBER = "    return x * x.sum().item()\n"
BRANCH = "    if x.sum().item() > 2:\n        return x\n    return x + 1\n"
SIZE = "    return x * x.nonzero().sum()\n"
HEAD = "import torch\n\n{setting}\n\n@torch.compile{options}\ndef f(x: torch.Tensor):\n"


def findings(folder: Path, body: str, setting: str = "", options: str = "", torch: str = "2.13.0") -> list[Finding]:
    file = folder / "program.py"
    file.write_text(HEAD.format(setting=setting, options=options) + body)
    return list(analyse([(file, file.name)], holding(rules(), torch)).findings)


@pytest.mark.parametrize(
    ("body", "setting"),
    [
        (NUMBER, "torch._dynamo.config.capture_scalar_outputs = True"),
        (NUMBER, "import torch._dynamo.config as config\n\nconfig.capture_scalar_outputs = True"),
        (SIZE, "torch._dynamo.config.capture_dynamic_output_shape_ops = True"),
    ],
)
def test_a_setting_of_the_file_silences_what_it_records(tmp_path, body, setting):
    assert findings(tmp_path, body) != []
    assert findings(tmp_path, body, setting) == []
    assert findings(tmp_path, body, setting.replace("True", "False")) != []


def test_a_recorded_number_that_decides_a_branch_stays(tmp_path):
    found = findings(tmp_path, BRANCH, "torch._dynamo.config.capture_scalar_outputs = True")
    assert [(f.rule, f.location.line) for f in found] == [("GD211", 7)]


@pytest.mark.parametrize("body", [NUMBER, SIZE])
def test_fullgraph_records_numbers_and_sizes_since_2_10(tmp_path, body):
    assert findings(tmp_path, body, options="(fullgraph=True)") == []
    (older,) = findings(tmp_path, body, options="(fullgraph=True)", torch="2.9.0")
    assert older.message.endswith(": with `fullgraph=True` compiling fails here")
    assert findings(tmp_path, body, options="(dynamic=True)") != []


def test_with_fullgraph_a_break_is_an_error_of_compiling(tmp_path):
    body = "    print(x)\n" + NUMBER
    (found,) = findings(tmp_path, body, options="(fullgraph=True)")
    assert found.message.endswith(": with `fullgraph=True` compiling fails here")
    other = body + "\n\n@torch.compile\ndef g(x):\n    print(x)\n    return x\n"
    whole, split = findings(tmp_path, other, options="(fullgraph=True)")
    assert whole.message.endswith(": with `fullgraph=True` compiling fails here")
    assert split.message.endswith(": this splits the graph")


KEPT = "    n = x.sum().item()\n    if n > 2:\n        return x\n    return x + 1\n"


@pytest.mark.parametrize(
    ("setting", "options", "end"),
    [
        ("torch._dynamo.config.capture_scalar_outputs = True", "", ": this splits the graph"),
        ("", "(fullgraph=True)", ": with `fullgraph=True` compiling fails here"),
    ],
)
def test_a_recorded_number_breaks_where_it_decides(tmp_path, setting, options, end):
    (found,) = findings(tmp_path, KEPT, setting, options)
    assert (found.rule, found.severity, found.location.line) == ("GD217", "error", 8)
    assert found.message.endswith(end)
    read, decided = findings(tmp_path, KEPT)
    assert (read.rule, read.severity, decided.rule, decided.severity) == ("GD211", "error", "GD217", "warning")


@pytest.mark.parametrize("setting", [False, True])
def test_what_dynamo_makes_of_a_recorded_number_that_decides(setting):
    """What the messages claim."""
    torch = pytest.importorskip("torch")

    def f(x):
        n = x.sum().item()
        if n > 2:
            return x
        return x + 1

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=setting):
        (broken,) = torch._dynamo.explain(f)(torch.ones(4)).break_reasons
    line = broken.user_stack[-1].line
    assert line == ("if n > 2:" if setting else "n = x.sum().item()")


@pytest.mark.parametrize(
    ("line", "compiles"),
    [
        ("assert x.max().item() < 100", True),
        ("assert int(x.max()) < 100", True),
        ("x = x[: int(x.max())]", True),
        ("x = x + sum(range(int(x.max())))", False),
        ("x = torch.tril_indices(int(x.max()), 4)", False),
        ("x = x * math.log1p(x.sum())", False),
        ("x = x * math.sqrt(x.sum())", False),
        ("x = x * math.sqrt(x.sum().item())", True),
        ("x = x * math.exp(x.sum().item())", False),
    ],
)
def test_where_the_number_is_needed_a_recorded_one_fails(tmp_path, line, compiles):
    torch = pytest.importorskip("torch")
    body = f"    {line}\n    return x * 2\n"
    found = findings(tmp_path, body, setting="import math", options="(fullgraph=True)")
    assert [f.severity for f in found if f.severity == "error"] == ([] if compiles else ["error"])
    spec = importlib.util.spec_from_file_location("recorded", tmp_path / "program.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    torch._dynamo.reset()
    f = torch.compile(program.f._torchdynamo_orig_callable, fullgraph=True, backend="eager")
    with (
        contextlib.nullcontext() if compiles else pytest.raises(Exception, match=r"(?i)data.dependent|unbacked|symbol")
    ):
        f(torch.arange(1, 5))
