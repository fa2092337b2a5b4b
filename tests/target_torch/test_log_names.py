"""Which logs the installed torch has, against what torch itself says."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from graphdoctor.target_torch import log_names
from graphdoctor.target_torch.log_names import installed_logs, read_logs


def test_they_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    from torch._logging._internal import log_registry

    names = installed_logs()
    assert names is not None
    assert names.components == set(log_registry.log_alias_to_log_qnames)
    assert names.artifacts == log_registry.artifact_names
    assert names.arguments == set(inspect.signature(torch._logging.set_logs).parameters)


def test_a_folder_without_the_files_says_so(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="_registrations"):
        read_logs(tmp_path)


def test_without_torch_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_names, "torch_folder", lambda: None)
    assert installed_logs.__wrapped__() is None
