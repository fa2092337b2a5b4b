"""The suggested fixes of a diagnosis as text: a diff, one file with its fixes, a patch for installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from graphdoctor.model.findings import Diagnosis
from graphdoctor.scan import notebooks
from graphdoctor.source.files import decode, is_notebook


def diff(diagnosis: Diagnosis, unsafe: bool, stdin: bytes | None = None) -> str:
    """The unified diff of the suggested fixes against the files on disk; ``unsafe`` admits unsafe ones.

    ``stdin`` is what the one scanned file holds where it is not on disk. Fixes that verification showed not to work are
    left out.
    """
    from graphdoctor.fixes.core.diff import unified

    texts = notebooks.texts_of(diagnosis, stdin) if stdin is not None else {}
    before, after = _before_and_after(diagnosis, unsafe, texts)
    return "".join(unified(path, before[path], after[path]) for path in before)


def fixed(diagnosis: Diagnosis, unsafe: bool, stdin: bytes) -> bytes:
    """``stdin``, what the one scanned file holds, with the suggested fixes; ``unsafe`` admits unsafe ones."""
    text, encoding = decode(stdin)
    texts = notebooks.texts_of(diagnosis, stdin)
    after = {**texts, **_before_and_after(diagnosis, unsafe, texts)[1]}
    if not is_notebook(diagnosis.files[0].path):
        return after[diagnosis.files[0].path].encode(encoding)
    from graphdoctor.source.notebook import Notebook

    return Notebook(text).with_cells(after.values()).encode(encoding)


def third_party_patch(diagnosis: Diagnosis, unsafe: bool) -> str:
    """The fixes of installed packages as a patch (``scan.installed_fixes``); ``unsafe`` admits unsafe ones."""
    from graphdoctor.scan.installed_fixes import patch

    return patch(diagnosis.findings, Path(diagnosis.root), unsafe)


def _before_and_after(
    diagnosis: Diagnosis, unsafe: bool, texts: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the files that the fixes change, by shown path: of ``texts`` alone where there are any."""
    from graphdoctor.fixes.core.apply import fixed_texts, select_fixes

    chosen, _ = select_fixes((f for f in diagnosis.findings if not texts or f.location.path in texts), unsafe)
    paths = sorted({f.location.path for f in chosen})
    before = {path: texts[path] if texts else notebooks.text_at(Path(diagnosis.root) / path) for path in paths}
    return before, fixed_texts(before, chosen)
