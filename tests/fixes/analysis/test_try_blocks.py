"""What fails inside a graph is raised when the graph runs: a handler of the code would not see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.lint import engine

SENTENCE = "it stands in a try, whose handlers do not see what fails inside the graph."
CHECKS = {
    "raise": "if (x < 0).any():\n            raise ValueError('negative')",
    "assert": "assert (x > 0).all(), f'min is {x.min()}'",
    "check": "torch._check_tensor_all(x > 0)",
    "number": "n = int(x.sum())",
}
HANDLED = "    try:\n        {}\n    except (ValueError, AssertionError, RuntimeError):\n        x = x.abs()\n"
CLEANED_UP = "    try:\n        {}\n    finally:\n        n = 0\n"


def fixes(folder: Path, body: str, behind: str = "") -> list[tuple[str, str]]:
    file = folder / "model.py"
    sample = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(3),)\n"
    file.write_text(f"import torch\n\n\ndef f(x, n=0):\n{body}    return x * n\n{behind}{sample}")
    found = engine.analyse([(file, file.name)]).findings
    return [(f.fix.safety, f.fix.reason) for f in found if f.fix is not None]


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_with_a_handler_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    found = fixes(tmp_path, HANDLED.format(CHECKS[name]))
    assert found and all(safety == "manual" for safety, _ in found)
    assert any(reason.lower().endswith(SENTENCE) for _, reason in found)


@pytest.mark.parametrize("name", CHECKS)
def test_a_try_without_handlers_does_not_matter(tmp_path: Path, name: str) -> None:
    assert "unsafe" in [safety for safety, _ in fixes(tmp_path, CLEANED_UP.format(CHECKS[name]))]


CALLED_SENTENCE = "`f` is called in a try, whose handlers do not see what fails inside the graph."
CALLER = """

def g(x):
    try:
        return f(x)
    except {}:
        return x.abs()
"""


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_whose_function_is_called_with_a_handler_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    body = f"    {CHECKS[name]}\n"
    found = fixes(tmp_path, body, CALLER.format("ValueError"))
    assert found and all(safety == "manual" for safety, _ in found)
    assert any(reason.lower().endswith(CALLED_SENTENCE) for _, reason in found)
    assert "unsafe" in [safety for safety, _ in fixes(tmp_path, body, CALLER.format("KeyboardInterrupt"))]


OVERRIDES = """
import torch


class Base(torch.nn.Module):
    def forward(self, x, n):
{base}        return x * n


class Net(Base):
    def forward(self, x, n):
{own}        try:
            return super().forward(x, n)
        except ValueError:
            return x


def graphdoctor_target():
    return Net(), (torch.rand(3), 2)
"""


@pytest.mark.parametrize(("where", "safety"), [("own", "unsafe"), ("base", "manual")])
def test_a_method_that_is_called_on_super_is_the_overridden_one(tmp_path: Path, where: str, safety: str) -> None:
    check = "        if (x < 0).any():\n            raise ValueError('negative')\n"
    file = tmp_path / "model.py"
    file.write_text(OVERRIDES.format(**{"own": "", "base": "", where: check}))
    found = engine.analyse([(file, file.name)]).findings
    assert [f.fix.safety for f in found if f.fix is not None] == [safety]
