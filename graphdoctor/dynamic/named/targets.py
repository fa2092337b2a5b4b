"""``hf:BertModel`` -> the file that is read, and the text of a sample that builds it in the worker.

Packages add names of their own as entry points of the group ``graphdoctor.targets``: the name of the entry point is
what stands before the colon, its object is a ``Provider``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.config.suggestions import hint
from graphdoctor.dynamic.named import sources
from graphdoctor.source import top_level_names
from graphdoctor.source.called_target import is_call, name_of
from graphdoctor.source.files import text_of

GROUP = "graphdoctor.targets"

#: No path: a folder, a drive or the ending of a file would be in it.
_NAMED = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.\-]*(?:\(.*\))?)", re.DOTALL)

#: A name in a file, or a call of it.
_IN_FILE = re.compile(r"(.+?\.(?:py|ipynb)):([A-Za-z_][\w.]*(?:\(.*\))?)", re.DOTALL)

_FOUND = """\
from graphdoctor.dynamic.user_code.target import of_name
from {module} import {top} as _found


def graphdoctor_target():
    return of_name({found}, {shown!r}, inputs={inputs})
"""

_CALLED = """\
from graphdoctor.dynamic.user_code.target import of_call
import {module} as _module


def graphdoctor_target():
    return of_call(_module, {call!r}, inputs={inputs})
"""


class NoSuchTarget(Exception):
    """A name that nothing has; the text is one line for the user."""


@dataclass(frozen=True)
class NamedTarget:
    """``file`` is read by the static pass; ``sample`` is Python with a ``graphdoctor_target()`` for the worker."""

    file: Path
    sample: str


#: Gets what stands after the colon. Raises NoSuchTarget. It runs in a process without torch.
Provider = Callable[[str], NamedTarget]


def is_named(text: str) -> bool:
    """Whether ``text`` names a target, and no file."""
    return _NAMED.fullmatch(text) is not None and not os.path.exists(text)


def in_file(text: str) -> tuple[str, str] | None:
    """``net.py`` and ``Net`` for ``net.py:Net``, ``Net(4)`` for ``net.py:Net(4)``; None for anything else."""
    found = _IN_FILE.fullmatch(text)
    return (found[1], found[2]) if found is not None and os.path.isfile(found[1]) and not os.path.exists(text) else None


def named_target(text: str, inputs: bool = False) -> NamedTarget:
    """What ``text``, for which ``is_named``, stands for; ``inputs``: the user gives them. Raises NoSuchTarget."""
    kind, _, name = text.partition(":")
    if "(" in name and (kind in _PROVIDERS or not is_call(name)):
        raise NoSuchTarget(f"{text} is no name: of a module or a file, a call may be named, as net.py:Net(4)")
    if kind in _PROVIDERS:
        return _PROVIDERS[kind](name)
    # A scan of a file does without it.
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=kind):
        provider: Provider = entry.load()
        return provider(name)
    return _of_module(kind, name, inputs)


def _transformers(name: str) -> NamedTarget:
    known = sources.definitions(installed("transformers", "hf") / "models", "*/modeling_*.py", "class")
    text = "from graphdoctor.dynamic.named.transformers_models import build\n\n\n"
    return NamedTarget(
        _known(f"hf:{name}", name, known, "give the name of a model class of transformers, such as hf:BertModel"),
        f"{text}def graphdoctor_target():\n    return build({name!r})\n",
    )


def _timm(name: str) -> NamedTarget:
    # A tag after a dot chooses weights, and there are none here.
    plain = name.partition(".")[0]
    known = sources.definitions(installed("timm", "timm") / "models", "*.py", "def")
    text = (
        "import timm\nimport torch\n\n\ndef graphdoctor_target():\n"
        f"    model = timm.create_model({plain!r}, pretrained=False)\n"
        "    return model, (torch.rand(2, *model.pretrained_cfg['input_size']),)\n"
    )
    public = {key: file for key, file in known.items() if not key.startswith("_")}
    return NamedTarget(_known(f"timm:{name}", plain, public, "give the name of a model, as timm.list_models()"), text)


def _of_module(dotted: str, name: str, inputs: bool) -> NamedTarget:
    file = sources.module(dotted)
    if file is None and dotted.endswith(".py"):
        raise NoSuchTarget(f"{dotted}:{name}: no such file or folder")
    if file is None:
        raise NoSuchTarget(
            f"{dotted}:{name}: no module named {dotted} here or where Python looks for modules; "
            f"hf:CLASS is a model of transformers, timm:NAME one of timm"
        )
    top, *rest = name_of(name).split(".")
    known = top_level_names.top_level(text_of(file))
    if known is not None and top not in known:
        advice = hint(top, known, "name a model, or a function that returns what a graphdoctor_target() does")
        raise NoSuchTarget(f"{dotted}:{name}: the module has nothing of this name; {advice}")
    if name_of(name) != name:
        return NamedTarget(file, _CALLED.format(module=dotted, call=name, inputs=inputs))
    found = ".".join(["_found", *rest])
    text = _FOUND.format(module=dotted, top=top, found=found, shown=f"{dotted}:{name}", inputs=inputs)
    return NamedTarget(file, text)


_PROVIDERS: dict[str, Provider] = {"hf": _transformers, "timm": _timm}


def installed(package: str, kind: str) -> Path:
    """The folder of ``package``, whose models ``kind`` names. Raises NoSuchTarget."""
    folder = sources.package(package)
    if folder is None:
        raise NoSuchTarget(f"{kind}: needs {package}, which is not installed here: pip install {package}")
    return folder


def _known(shown: str, name: str, known: Mapping[str, Path], otherwise: str) -> Path:
    if name not in known:
        raise NoSuchTarget(f"{shown}: nothing of this name is installed; {hint(name, known, otherwise)}")
    return known[name]
