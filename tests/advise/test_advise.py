"""The whole command, in real processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NET = (Path(__file__).parent / "targets/encoder_decoder.py").read_text()


def advise(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphdoctor", "advise", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("advise")
    (made / "net.py").write_text(NET)
    return made


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict:
    """The advice for training, with times."""
    done = advise("net.py", "--mode", "train", "--measure", "--backend", "eager", "--output-format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_place_is_counted(trained: dict) -> None:
    found = {placement["kind"]: placement for placement in trained["placements"]}
    assert (found["model"]["breaks"], found["submodules"]["breaks"]) == (1, 0)
    assert found["submodules"]["names"] == ["encoder", "decoder"]
    # They are nn.Sequential, whose own compile() compiles nothing.
    assert found["submodules"]["compilations"] >= 2
    assert "model.encoder.forward = torch.compile(model.encoder.forward)" in found["submodules"]["code"]
    assert found["loss"]["compilations"] > 0
    assert found["optimizer"]["compilations"] > 0


def test_changing_sizes_are_treated_in_the_way_that_compiles_least(trained: dict) -> None:
    counts = [entry["compilations"] for entry in trained["shapes"]]
    assert len(counts) == 3
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_the_measured_times_are_part_of_the_advice(trained: dict) -> None:
    timed = {result["strategy"] for result in trained["bench"]["results"] if result["timing"]}
    assert timed == {"eager", "default", "optimizer"}


def test_the_library_that_the_file_imports_gets_its_lines(trained: dict) -> None:
    assert [note["title"] for note in trained["notes"]] == ["Fabric", "Lightning"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "missing.py is not a file"),
        (["net.py", "--target", "Other"], "has no function, module class or module of this name"),
    ],
)
def test_bad_input_gets_one_line(folder: Path, arguments: list[str], message: str) -> None:
    done = advise(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]
