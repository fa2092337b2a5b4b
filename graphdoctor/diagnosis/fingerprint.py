"""Names for findings that stay the same when lines move."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from graphdoctor.model.findings import Finding


def with_fingerprints(findings: Iterable[Finding], lines: Mapping[str, Sequence[str]]) -> tuple[Finding, ...]:
    """``findings`` with their fingerprints set; ``lines`` holds the source lines by path.

    Made of rule, path, function, the line's text without spacing, and how many equal ones stand before it.
    """
    findings = tuple(findings)
    counts: Counter[tuple[str, ...]] = Counter()
    marks: dict[int, str] = {}
    for finding in sorted(findings, key=lambda f: (f.location, f.rule)):
        place = finding.location
        source = lines.get(place.path, ())
        text = source[place.line - 1] if 0 < place.line <= len(source) else ""
        key = (finding.rule, place.path, finding.function, "".join(text.split()))
        # The names of files need not be UTF-8.
        data = "\0".join((*key, str(counts[key]))).encode("utf-8", "backslashreplace")
        marks[id(finding)] = hashlib.sha256(data).hexdigest()[:16]
        counts[key] += 1
    return tuple(replace(f, fingerprint=marks[id(f)]) for f in findings)
