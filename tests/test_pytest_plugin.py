"""The assertions as users run them: a pytest session of its own, with real torch and the plugin's entry point."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphdoctor

pytest_plugins = "pytester"

TESTS = """
import torch
from torch import nn

from graphdoctor.testing import assert_fullgraph, assert_max_recompiles, assert_no_graph_breaks


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        print("forward")
        if x.sum() > 0:
            x = x + 1
        return x


def clean(x):
    return x.sin()


def sizes(*sizes):
    return [(torch.rand(size),) for size in sizes]


def test_clean():
    assert_fullgraph(clean, torch.rand(3))
    assert_no_graph_breaks(clean, torch.rand(3))
    assert_max_recompiles(clean, sizes(3, 3))
    assert_max_recompiles(clean, sizes(3, 4, 5), max_recompiles=1)


def test_allowed():
    assert_no_graph_breaks(Net(), torch.rand(3, 4), max_breaks=2)
    assert_no_graph_breaks(Net(), torch.rand(3, 4), ignore=["GB0059"], max_breaks=1)
    assert_no_graph_breaks(Net(), x=torch.rand(3, 4), ignore=["test_user*"])


def test_fullgraph():
    assert_fullgraph(Net(), torch.rand(3, 4))


def test_breaks(assert_no_graph_breaks):
    assert_no_graph_breaks(Net(), torch.rand(3, 4), max_breaks=1)


def test_recompiles(assert_max_recompiles):
    assert_max_recompiles(clean, sizes(3, 4, 5))


def test_nothing():
    assert_fullgraph(lambda number: number + 1, 3)


def test_own_error():
    assert_fullgraph(lambda x: x + {}["missing"], torch.rand(3))
"""


def lines(path: Path, *texts: str) -> list[int]:
    """The numbers of the lines that hold ``texts``."""
    return [n for text in texts for n, line in enumerate(path.read_text().splitlines(), 1) if text in line]


@pytest.mark.parametrize("parallel", [False, True])
def test_failing_tests_list_breaks_with_lines_words_and_fixes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, parallel: bool
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    if parallel:
        # What the user logs must neither be lost nor change the result.
        monkeypatch.setenv("TORCH_LOGS", "graph_breaks,recompiles")
    file = pytester.makepyfile(test_user=TESTS)
    options = ["-n", "2"] if parallel else ["-p", "no:xdist"]
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(passed=2, failed=5)
    printed, branch = lines(file, 'print("forward")', "if x.sum()")
    text = result.stdout.str()
    for expected in (
        "AssertionError: Net is not one graph, 2 graph breaks:",
        "AssertionError: Net has 2 graph breaks where 1 is allowed:",
        'print("forward")',
        "print() is a side effect that cannot be part of a graph",
        "fix: Select with torch.where",
        "AssertionError: clean: 1 recompile where 0 are allowed:",
        "the size of x changed in dimension 0: expected 3, actual 4",
        "nothing was compiled",
        "KeyError: 'missing'",
    ):
        assert expected in text, expected
    # Frames have columns from torch 2.13 on.
    for place, cause in ((rf"{printed}(:9)?", "GB0059"), (rf"{branch}(:12)?", "GB0170")):
        assert re.search(rf"test_user\.py:{place} in Net\.forward \({cause}\)", text), cause
    # Tracebacks end in the user's test.
    package = Path(graphdoctor.__file__).parent
    places = [pytester.path / name for name in re.findall(r"^(\S.*?\.py):\d+: ", text, re.MULTILINE)]
    assert file in places
    assert [place for place in places if place.resolve().is_relative_to(package)] == []
    assert ("Graph break in user code" in text) == parallel


def test_the_plugin_imports_neither_torch_nor_the_engine() -> None:
    code = "import sys, graphdoctor.pytest_plugin; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("graphdoctor.")} == {
        "graphdoctor.pytest_plugin",
        "graphdoctor.testing",
    }
    assert not loaded & {"torch", "libcst", "click", "jinja2"}


def test_the_plugin_is_loaded_by_its_entry_point(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--fixtures", "-p", "no:xdist")
    for name in ("assert_fullgraph", "assert_no_graph_breaks", "assert_max_recompiles"):
        result.stdout.fnmatch_lines([f"{name} *graphdoctor/pytest_plugin.py*"])
