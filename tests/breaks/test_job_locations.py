"""Columns of a trace count in the line without its indentation; those of a report in the line as it is written."""

import tempfile
from pathlib import Path

from graphdoctor.breaks.grouping import RawEvent, RawFrame
from graphdoctor.breaks.job_locations import Sources, generated_folder, job_places


def test_columns_count_in_the_line_as_it_is_written(tmp_path: Path) -> None:
    """Also those of the frames above what is compiled: a break inside a library is told at the user's call there."""
    file = tmp_path / "net.py"
    file.write_text("def step(x):\n    with no_grad():\n        y = net(x)\n    return y\n")
    call, inside = RawFrame(str(file), 3, 5, "step"), RawFrame("/gone/contextlib.py", 105, 20, "inner")
    event = RawEvent("message", "resume", (call,), (call, inside))
    placed = Sources({(str(file), 3): "y = net(x)"}).placed(event)
    assert [frame.column for frame in (*placed.above, *placed.traced)] == [13, 13, None]


def test_code_that_a_library_generates_is_not_the_users() -> None:
    """Unless the program itself runs from the folder for temporary files, or has run elsewhere."""
    temporary, here = Path(tempfile.gettempdir()).resolve(), Path("/srv/project")
    generated, program = str(temporary / "conv_propagate.py"), str(here / "train.py")
    kinds = []
    for paths, folder in [((generated, program), here), ((generated,), here), ((generated, program), temporary)]:
        places = job_places(folder, "", generated_folder(paths, folder))
        kinds.append((places.kind(generated), places.kind(program)))
    assert kinds == [("third-party", "own"), ("own", "own"), ("own", "own")]


def test_what_pip_installed_into_any_folder_is_not_the_users(tmp_path: Path) -> None:
    (tmp_path / "libs" / "timm-1.0.dist-info").mkdir(parents=True)
    places = job_places(tmp_path, "")
    assert places.kind(str(tmp_path / "libs" / "timm" / "layers" / "a.py")) == "third-party"
    assert places.kind(str(tmp_path / "mine" / "a.py")) == places.kind("/gone/libs/a.py") == "own"
