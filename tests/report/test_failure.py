"""A run that ended with an exception: what failed comes first, and fixes for something else do not pass for its repair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphdoctor.diagnosis.summary import summarise
from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.runs import Frame
from graphdoctor.report.failure import Failure, failure
from graphdoctor.report.first_actions import first_actions
from graphdoctor.report.html import page
from graphdoctor.report.proof import safe_fixes
from graphdoctor.report.text import terminal
from graphdoctor.report.unchecked import unchecked
from tests.page_counts import text

TEXT = "import torch\n\n\ndef forward(x):\n    return x @ x\n\n\n"


@pytest.fixture(scope="module")
def failed(rich: Diagnosis) -> Diagnosis:
    assert rich.dynamic is not None
    detail = "RuntimeError in eager: shapes 8x16 and 32x4 (model.py:5 in forward)"
    raised = replace(
        rich.dynamic[0],
        outcome="raised",
        detail=detail,
        raised_at=Frame("model.py", 5, "forward"),
        raised_with=("x float32[8, 16]", "self.proj Linear(in_features=4, out_features=4, bias=True)"),
        inputs="x, from f()",
        numerics=None,
    )
    runs = (raised, replace(raised, mode="train"))
    findings = tuple(replace(finding, status="static-only") for finding in rich.findings)
    return replace(
        rich,
        command="graphdoctor scan model.py --html r.html",
        summary=summarise(rich.files, findings, runs),
        findings=findings,
        dynamic=runs,
        verification=None,
        texts={"model.py": TEXT},
    )


def test_the_headline_has_the_place_and_not_the_message(failed: Diagnosis) -> None:
    headline = "Cannot tell: the eval and train runs raised RuntimeError in eager at model.py:5"
    assert failed.summary.headline == headline


def test_the_line_that_raised_is_shown_with_its_source(failed: Diagnosis) -> None:
    found = failure(failed)
    assert found is not None
    assert (found.text, found.place) == ("RuntimeError in eager: shapes 8x16 and 32x4", "model.py:5")
    assert [(line.number, line.marked) for line in found.lines] == [(3, ""), (4, ""), (5, "return x @ x")]
    assert found.command == "graphdoctor scan model.py"
    unread = failure(replace(failed, texts={}))
    assert unread is not None and unread.lines == ()


def test_the_values_on_the_line_that_raised_are_shown(failed: Diagnosis) -> None:
    layer = "self.proj is Linear(in_features=4, out_features=4, bias=True)"
    assert f"  = here: x is float32[8, 16], {layer}" in " ".join(terminal.render(failed).split("\n"))
    assert f"Here x is float32[8, 16] , {layer} ." in text(page.render(failed))


def test_a_file_from_windows_shows_no_carriage_returns(failed: Diagnosis) -> None:
    windows = replace(failed, texts={"model.py": TEXT.replace("\n", "\r\n")})
    assert "5 |     return x @ x\n" in terminal.render(windows)
    assert "x0d" not in terminal.render(windows) + page.render(windows)


def test_the_error_is_the_first_thing_to_do_and_fixes_are_not_offered_for_it(failed: Diagnosis) -> None:
    action = first_actions(failed)[0]
    assert (action.title.partition(":")[0], action.place) == ("correct the error", "model.py:5")
    assert safe_fixes(failed) is None


def test_the_first_thing_to_do_is_what_is_known_to_help(failed: Diagnosis) -> None:
    assert failed.dynamic is not None
    detail = "TypeCheckError: Type-check error whilst checking the parameters of f. (model.py:5 in forward)"
    checked = replace(failed, dynamic=(replace(failed.dynamic[0], detail=detail),))
    assert first_actions(checked)[0].title.startswith("take the type checker off")
    assert "run it with <code>python -O</code>" in page.render(checked)


def test_what_raises_under_torch_compile_is_one_thing_to_do(failed: Diagnosis) -> None:
    place = replace(failed.findings[0].location, path="model.py", line=5, end_line=5)
    seen = replace(failed.findings[0], location=place, status="dynamic-only", suggestion="write it so", fix=None)
    actions = first_actions(replace(failed, findings=(seen,)))
    assert [action.finding for action in actions if action.place == "model.py:5"] == [seen]
    assert "write it so" in actions[0].title and actions[0].effect == "until then nothing is compiled or measured"


def test_the_page_and_the_text_say_what_failed_and_how_to_scan_again(failed: Diagnosis) -> None:
    top = text(page.render(failed).partition('<ul class="numbers"')[0])
    assert "their fixes do not correct this error" in top and "graphdoctor scan model.py" in top
    assert "Input: x, from f()" in top and "--fix" not in top
    assert terminal.render(failed).split("\n\n")[1].splitlines() == [
        "model.py:5: RuntimeError in eager: shapes 8x16 and 32x4",
        "5 |     return x @ x",
        "  = here: x is float32[8, 16], self.proj is Linear(in_features=4, out_features=4, bias=True)",
        "  = help: correct it, then scan again: graphdoctor scan model.py",
    ]


def test_what_the_run_would_have_measured_is_listed(failed: Diagnosis) -> None:
    gaps = " ".join(unchecked(failed))
    for part in ("graph breaks, fullgraph=True, recompiles and outputs were not measured", "on a GPU"):
        assert part in gaps


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("RuntimeError in eager: shapes 8x16 and 32x4", "correct it"),
        (
            "ModuleNotFoundError at import: No module named 'PIL'",
            "`pip install pillow` where graphdoctor is installed",
        ),
        (
            "ModuleNotFoundError at import: No module named 'gym', 'apex', 'yaml', 'my_ops'",
            "`pip install gym pyyaml` where graphdoctor is installed, and install what provides `apex` and `my_ops`",
        ),
        (
            "ModuleNotFoundError at import: No module named 'apex'",
            "install what provides `apex` where graphdoctor is installed",
        ),
        (
            "AssertionError in eager: Torch not compiled with CUDA enabled",
            "run it where torch finds a GPU; or make the code take the device of its inputs, as in `device=x.device`, "
            "in place of `.cuda()`",
        ),
        (
            "FileNotFoundError while the target was built: [Errno 2] No such file or directory: 'weights.pt'",
            "make it, or scan from the folder that its path is relative to; where the model need not read it, build "
            "the model without it in a `graphdoctor_target()`",
        ),
        (
            "AttributeError at import: module 'torch._C' has no attribute '_cuda_setDevice'",
            "run it where torch finds a GPU; or make the code take the device of its inputs, as in `device=x.device`, "
            "in place of `.cuda()`",
        ),
        (
            "RuntimeError at import: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
            "run it where torch finds a GPU; or make the code take the device of its inputs, as in `device=x.device`, "
            "in place of `.cuda()`",
        ),
        (
            "RuntimeError under torch.compile: accessing gradient tensor output of CUDAGraphs that has been overwritten by "
            "a subsequent run. Stack trace: ...",
            "set the gradients to None before each backward pass, or make them before the first compiled one",
        ),
    ],
)
def test_what_helps_against_some_errors_is_said(text: str, remedy: str) -> None:
    assert Failure(text, "model.py", 4, "", (), "graphdoctor scan model.py").remedy == remedy
