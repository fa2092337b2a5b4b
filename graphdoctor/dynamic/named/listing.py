"""``hf:Bert*`` -> the names that fit: read from the texts of the installed package, nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from graphdoctor.dynamic.named.targets import NoSuchTarget, installed
from graphdoctor.source.files import text_of

#: A name with a wildcard.
_PATTERN = re.compile(r"(hf|timm):([\w.\-*?\[\]]*[*?\[][\w.\-*?\[\]]*)")

_EXPORTED = re.compile(r"^__all__ = \[(.*?)\]", re.MULTILINE | re.DOTALL)
_MODEL = re.compile(r"^class (\w+)\((?:[\w., \n]*\b)?\w*Model\b", re.MULTILINE)
_REGISTERED = re.compile(r"^@register_model\s*\ndef (\w+)\(", re.MULTILINE)


def is_pattern(text: str) -> bool:
    """Whether ``text`` stands for several names."""
    return _PATTERN.fullmatch(text) is not None


def matching(text: str) -> list[str]:
    """The targets that ``text``, for which ``is_pattern``, stands for. Raises NoSuchTarget."""
    kind, _, pattern = text.partition(":")
    package, names = _KINDS[kind]
    folder = installed(package, kind) / "models"
    found = dict.fromkeys(f"{kind}:{name}" for name in names(folder) if fnmatchcase(name, pattern))
    if not found:
        raise NoSuchTarget(f"{text}: no model of the installed {package} has such a name")
    return list(found)


def _of_transformers(folder: Path) -> Iterator[str]:
    """The public classes that are models, not their parts, and not those that others are made from."""
    for file in sorted(folder.glob("*/modeling_*.py")):
        text = text_of(file)
        exported = _EXPORTED.search(text)
        public = set(re.findall(r"\w+", exported[1])) if exported else set()
        yield from (name for name in _MODEL.findall(text) if name in public and not name.endswith("PreTrainedModel"))


def _of_timm(folder: Path) -> Iterator[str]:
    for file in sorted(folder.glob("*.py")):
        yield from _REGISTERED.findall(text_of(file))


_KINDS: dict[str, tuple[str, Callable[[Path], Iterator[str]]]] = {
    "hf": ("transformers", _of_transformers),
    "timm": ("timm", _of_timm),
}
