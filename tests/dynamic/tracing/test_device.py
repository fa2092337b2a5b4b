"""What torch says about speed, and what is not checked without a GPU. Nothing here needs one."""

import sysconfig
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from graphdoctor.breaks.locations import Places
from graphdoctor.dynamic.tracing import device

PLACES = Places(root="/", own=("/",), torch=str(Path(torch.__file__).parent))


def test_hints_are_kept_once_and_only_with_something_to_do() -> None:
    said = ["Using FallbackKernel: aten.sort", "Skip comprehensive padding on CPU", "Using FallbackKernel: aten.sort"]
    (hint,) = device.hints(said)
    assert (hint.text, hint.events) == ("Using FallbackKernel: aten.sort", 2)
    assert "`aten.sort`" in hint.action


def test_without_a_gpu_nothing_runs_and_the_gaps_are_named() -> None:
    def never() -> Callable[[], None]:
        raise AssertionError("must not run")

    cpu = torch.device("cpu")
    checks = device.check(cpu, never, None, PLACES, [])
    assert "peak device memory" in checks.unchecked
    assert any("--ladder" in line for line in checks.unchecked)
    checks = device.check(cpu, never, never, PLACES, ["Using FallbackKernel: aten.sort"])
    assert not any("--ladder" in line for line in checks.unchecked)
    assert [hint.action for hint in checks.hints]


def test_a_wait_is_that_of_the_line_which_called_torch(monkeypatch: Any) -> None:
    """Without a GPU nothing waits: torch's warning is given by hand, from where torch would give it."""
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", lambda _mode: None)
    inner = compile("def wait(warn): warn()", str(Path(torch.__file__).parent / "made_up.py"), "exec")
    names: dict[str, Any] = {}
    exec(inner, names)

    def step() -> None:
        for _ in range(2):
            names["wait"](lambda: warnings.warn("called a synchronizing CUDA operation", stacklevel=2))
        warnings.warn("something else", stacklevel=1)

    own = Path(__file__)
    standard = (sysconfig.get_path("stdlib"),)
    places = Places(root=str(own.parent), own=(str(own.parent),), torch=PLACES.torch, library=standard)
    (hint,) = device._waits(step, places)
    line = next(
        n for n, text in enumerate(own.read_text().splitlines(), 1) if text.startswith('            names["wait"]')
    )
    assert (hint.path, hint.line, hint.events) == (own.name, line, 2)
