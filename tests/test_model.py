"""The model is one module for its users, and two files, because only runs need the second."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graphdoctor import model, run_model


@pytest.mark.parametrize("name", run_model.__all__)
def test_what_runs_saw_is_part_of_the_model(name: str) -> None:
    assert getattr(model, name) is getattr(run_model, name)


def test_it_is_imported_when_it_is_asked_for() -> None:
    program = (
        "import sys\nfrom graphdoctor.model import Diagnosis\nprint('graphdoctor.run_model' in sys.modules)\n"
        "from graphdoctor.model import DynamicRun\nprint('graphdoctor.run_model' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_what_is_in_neither_file_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        model.Nothing  # noqa: B018
