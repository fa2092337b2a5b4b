"""The files that belong to one program with a file: one may load what another saves, and handle its keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from graphdoctor.source.errors import SourceError
from graphdoctor.source.module_files import imported_names
from graphdoctor.static.usage.modules import Modules
from graphdoctor.syntax.module import SourceModule

#: A folder with more files is no program, and they are not all read.
_MOST_FILES = 100


def related_texts(source: SourceModule, modules: Modules) -> Sequence[str]:
    """The texts of the modules of the project that a file imports, and of files beside it that share one with it.

    Such a file imports one of these modules too, as another script for the same model does, or the file itself.
    """
    names = {name: modules.find(source, name) for name in sorted(imported_names(source.text))}
    own = {name: found for name, found in names.items() if found is not None}
    texts = [found.text for found in own.values()]
    folder = source.resolved.parent
    beside = list(islice(folder.glob("*.py"), _MOST_FILES + 1))
    # A file that is put into the folder later counts, too.
    modules.depend_on((str(folder), *map(str, beside)))
    if len(beside) > _MOST_FILES:
        return texts
    for file in sorted(beside):
        try:
            text = modules.read(file)
        except SourceError:
            continue
        if file.name != source.resolved.name and imported_names(text) & {*own, source.resolved.stem}:
            texts.append(text)
    return texts
