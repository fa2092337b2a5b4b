"""Calls that the recorder saved -> files with a ``graphdoctor_target()``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdoctor.report.write import write
from graphdoctor.trace.process import Process

#: Bytes of tensors of one saved call.
LIMIT = 1 << 29

_TEXT = '''\
"""The first call of {name} in {program}, saved by `graphdoctor run --save-sample`.

`graphdoctor scan {file}` runs it.
"""

from pathlib import Path

from graphdoctor.recorder.saved_call import load

HERE = Path(__file__).parent


def graphdoctor_target():
    """What was compiled, with the arguments of its first call."""
    return load(HERE / {data!r}{script}, root=HERE / {root!r}{module}{folders})
'''


@dataclass(frozen=True)
class Saved:
    """A file that was written; ``training`` is the mode that its module was called in."""

    file: Path
    name: str
    training: bool


def calls(processes: Sequence[Process]) -> tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]:
    """The notes on saved calls, each with that on its program; of several ranks the first one's."""
    found = []
    for process in processes:
        programs = process.notes.get("graphdoctor_program", ())
        for note in process.notes.get("graphdoctor_sample", ()):
            if programs and note.get("rank", "0") == "0":
                found.append((note, programs[0]))
    return tuple(found)


def write_samples(
    target: Path, folder: Path, processes: Sequence[Process]
) -> tuple[tuple[Saved, ...], tuple[str, ...]]:
    """Write ``target``, and ``target_2`` and so on for further calls, each with its data. Gives notes too.

    Raises OSError.
    """
    saved: list[Saved] = []
    notes = []
    found = calls(processes)
    modes = {(note.get("name"), bool(note.get("training"))) for note, _program in found if "file" in note}
    for note, program in found:
        name = str(note.get("name") or "a function")
        training = bool(note.get("training"))
        if (note.get("name"), not training) in modes:
            name += " in train mode" if training else " in eval mode"
        if "file" not in note:
            notes.append(f"the call of {name} was not saved: {note.get('problem')}")
            continue
        file = target if not saved else target.with_name(f"{target.stem}_{len(saved) + 1}{target.suffix}")
        shutil.copyfile(folder / Path(str(note["file"])).name, file.with_suffix(".pt"))
        write(str(file), _text(file, name, note, program))
        saved.append(Saved(file, name, training))
        notes.append(f"saved: the first call of {name} in {file}; `graphdoctor scan {file}` runs it")
    if not saved and not notes:
        notes.append("nothing was saved: what torch.compile gave was not called itself")
    # Layers of one class that fail for one reason are told once.
    return tuple(saved), tuple(dict.fromkeys(notes))


def _text(file: Path, name: str, note: Mapping[str, Any], program: Mapping[str, Any]) -> str:
    main, dotted = program.get("main"), str(note.get("main") or "")
    here = file.resolve().parent
    root = str(program.get("folder")) if dotted or not main else os.path.dirname(str(main))
    script = f", script=HERE / {_relative(str(main), here)!r}" if main else ""
    return _TEXT.format(
        name=name,
        program=os.path.basename(str(main or "a program")),
        file=file.name,
        data=file.with_suffix(".pt").name,
        script=script,
        root=_relative(root, here),
        module=f", name={dotted!r}" if dotted else "",
        folders=_folders(note, root, here),
    )


def _folders(note: Mapping[str, Any], root: str, here: Path) -> str:
    """The folders that the program itself added to ``sys.path``, as arguments."""
    said = []
    for name, added in note.get("folders", {}).items():
        others = [each for each in added if os.path.realpath(each) != os.path.realpath(root)]
        paths = ", ".join(f"HERE / {_relative(each, here)!r}" for each in others)
        said += [f", {name}=[{paths}]"] if paths else []
    return "".join(said)


def _relative(path: str, folder: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), folder)).as_posix()
