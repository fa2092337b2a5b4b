"""GD611 is silent about every name that works, and about code that knows that a name may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphdoctor.config.suggestions import slip
from graphdoctor.lint.engine import analyse
from graphdoctor.model.findings import Finding
from graphdoctor.target_torch import compile_names

HEAD = "import contextlib\nimport torch\nimport torch._dynamo\nimport torch._inductor.config as inductor_config\n\n"


def found(folder: Path, text: str) -> list[Finding]:
    file = folder / "main.py"
    file.write_text(HEAD + text)
    return [finding for finding in analyse([(file, "main.py")]).findings if finding.rule == "GD611"]


@pytest.mark.parametrize(
    "line",
    [
        "torch._dynamo.config.cache_size_limit = 64",
        "torch._dynamo.config.accumulated_cache_size_limit = 64",
        "torch._dynamo.config.fail_on_cache_limit_hit = True",
        "torch._inductor.config.force_disable_caches = True",
        "torch._inductor.config.use_static_triton_launcher = True",
        "torch._inductor.config.triton.cudagraph_trees = False",
        "torch._inductor.config.trace.enabled = True",
        "torch._inductor.config.cuda.compile_opt_level = '-O2'",
        "torch._inductor.config.reorder_for_compute_comm_overlap = True",
        "torch._inductor.config.fx_graph_cache = True",
        "inductor_config.coordinate_descent_tuning = True",
        "torch.compile(f, options={'guard_filter_fn': keep})",
        "torch.compile(f, options={'use_aoti': True})",
        "torch.compile(f, options={'max-autotune': True, 'epilogue_fusion': True, 'trace.graph_diagram': True})",
        # Removed or added by now: of some version that is supported.
        "torch._inductor.config.cuda.cutlass_presets = None",
        "torch._inductor.config.autoheuristic_use.mixed_mm = False",
        "torch._inductor.config.unknown = True  # type: ignore[attr-defined]",
    ],
)
def test_what_works(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, line + "\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    {}\nexcept AttributeError:\n    pass\n",
        "try:\n    torch._dynamo.config.suppress_errors = True\nexcept AttributeError:\n    {}\n",
        "with contextlib.suppress(AttributeError):\n    {}\n",
        "if hasattr(torch._dynamo.config, 'gone'):\n    {}\n",
        "if 'gone' in dir(torch._dynamo.config):\n    {}\n",
        "if torch.__version__ >= '2.20':\n    {}\nelse:\n    {}\n",
        "if is_torch_greater_or_equal('2.20'):\n    {}\n",
        "if TORCH_VERSION > (2, 20):\n    for _ in range(2):\n        {}\n",
        "def main():\n    if not hasattr(torch._dynamo.config, 'gone'):\n        return\n    {}\n",
        "setattr(torch._dynamo.config, 'gone', True)\n",
    ],
)
def test_code_that_expects_it(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text.replace("{}", "torch._dynamo.config.gone = True")) == []
    assert found(tmp_path, text.replace("{}", "torch.compile(f, options={'gone': True})")) == []


@pytest.mark.parametrize(
    "text",
    [
        "torch._dynamo.config.gone = True\n",
        "torch._inductor.config.triton.gone = True\n",
        "if args.fast:\n    torch._dynamo.config.gone = True\n",
        "try:\n    work()\nfinally:\n    torch._dynamo.config.gone = True\n",
        "def main():\n    if not hasattr(x, 'y'):\n        return\n\n\ntorch._dynamo.config.gone = True\n",
        "with open('x') as file:\n    torch.compile(f, options={'gone': True})\n",
    ],
)
def test_what_surely_raises(tmp_path: Path, text: str) -> None:
    pytest.importorskip("torch")
    (finding,) = found(tmp_path, text)
    assert finding.severity == "error" and "no version from torch 2.6 to" in finding.message


def test_a_slip_is_named_and_a_neighbour_is_not(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (finding,) = found(tmp_path, "torch._dynamo.config.cache_size_limits = 4\n")
    assert finding.message.endswith("did you mean 'cache_size_limit'?")
    (finding,) = found(tmp_path, "torch._inductor.config.disable_caches = True\n")
    assert "did you mean" not in finding.message


def test_without_torch_it_is_a_warning_without_a_suggestion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_names, "torch_folder", lambda: None)
    compile_names.installed.cache_clear()
    try:
        (finding,) = found(tmp_path, "torch._dynamo.config.cache_size_limits = 4\n")
    finally:
        compile_names.installed.cache_clear()
    assert finding.severity == "warning" and "did you mean" not in finding.message


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("shape_paddin", "shape_padding"),
        ("shape_paddnig", "shape_padding"),
        ("shape_paddding", "shape_padding"),
        ("shapepadding", "shape_padding"),
        ("triton.cudagraph", "triton.cudagraphs"),
        ("disable_caches", None),
        ("enable_caches", None),
        ("force_enable_caches", None),
        ("shape_", None),
        ("fp16", None),
    ],
)
def test_slips(wanted: str, meant: str | None) -> None:
    known = ("shape_padding", "triton.cudagraphs", "force_disable_caches", "able_caches_x", "fp32", "fp6")
    assert slip(wanted, known) == meant
