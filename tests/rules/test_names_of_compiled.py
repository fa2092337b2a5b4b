"""Names that a compiled model does not have, as torch takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphdoctor.lint.engine import analyse

SOURCE = """\
import io

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.body(x))


file = io.BytesIO()
torch.save(Net().state_dict(), file)
file.seek(0)
model = Net()
compiled = {compiled}
{use}
"""


@pytest.mark.parametrize("compiled", ["torch.compile(model)", "model"])
@pytest.mark.parametrize(
    "test",
    [
        'name.startswith("body")', 'name.startswith(("body", "head."))', 'name == "body.weight"',
        'name in ("body.weight", "head.bias")', 'name.split(".")[0] == "head"', '"body" in name',
        'name.endswith("bias")', 'name != "body.weight"', 'not name.startswith("body")',
    ],
)  # fmt: skip
def test_a_test_of_names_is_reported_where_no_name_passes_it(tmp_path: Path, compiled: str, test: str) -> None:
    use = f"found = [value for name, value in compiled.named_parameters() if {test}]"
    found, namespace = _report_and_run(tmp_path, SOURCE.format(compiled=compiled, use=use))
    never = not namespace["found"] or (test.startswith("not") and len(namespace["found"]) == 4)
    assert found == (["GD637"] if never else [])


@pytest.mark.parametrize(
    ("loop", "never"),
    [
        ("for name, value in list(compiled.named_parameters()):", True),
        ("for name, value in sorted(compiled.state_dict().items()):", True),
        ("for name, (_, value) in zip(['body.weight'], compiled.named_parameters()):", False),
        ("for name, value in compiled.named_parameters():\n    name = name.split('.', 1)[1]", False),
    ],
)
def test_names_are_those_that_the_loop_goes_through(tmp_path: Path, loop: str, never: bool) -> None:
    use = f"found = []\n{loop}\n    if name.startswith('body'):\n        found.append(value)"
    found, namespace = _report_and_run(tmp_path, SOURCE.format(compiled="torch.compile(model)", use=use))
    assert (not namespace["found"]) is never
    assert found == (["GD637"] if never else [])


@pytest.mark.parametrize(
    ("compiled", "use", "loads"),
    [
        ("torch.compile(model)", "compiled.load_state_dict(torch.load(file), strict=False)", False),
        ("torch.compile(model)", "compiled.load_state_dict(torch.load(file), False)", False),
        ("torch.compile(model)", "model.load_state_dict(torch.load(file), strict=False)", True),
        ("model", "compiled.load_state_dict(torch.load(file), strict=False)", True),
    ],
)
def test_a_load_is_reported_where_it_loads_nothing(tmp_path: Path, compiled: str, use: str, loads: bool) -> None:
    use = f"missing = {use}.missing_keys"
    found, namespace = _report_and_run(tmp_path, SOURCE.format(compiled=compiled, use=use))
    assert (not namespace["missing"]) is loads
    assert found == ([] if loads else ["GD637"])


def test_what_the_program_saves_of_the_wrapper_it_may_load(tmp_path: Path) -> None:
    use = "kept = compiled.state_dict()\nmissing = compiled.load_state_dict(kept, strict=False).missing_keys"
    found, namespace = _report_and_run(tmp_path, SOURCE.format(compiled="torch.compile(model)", use=use))
    assert namespace["missing"] == []
    assert found == []


def _report_and_run(folder: Path, source: str) -> tuple[list[str], dict[str, object]]:
    file = folder / "load.py"
    file.write_text(source)
    found = [finding.rule for finding in analyse([(file, "load.py")]).findings]
    namespace: dict[str, object] = {}
    torch._dynamo.reset()
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    return found, namespace
