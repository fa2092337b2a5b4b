"""Makes the relative links of a Markdown file absolute, in place: package pages show a README without its repository.

    python -m tools.absolute_links README.md https://github.com/owner/repository v0.2.0

The workflow ``release`` runs it before it builds, since it alone knows the address and the tag. In the repository the
links stay relative, so that they lead to the files of the version that one looks at.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: ``[text](target)`` or ``![text](target)`` with a target that is neither an address nor a part of the same page.
_RELATIVE = re.compile(r"(?P<image>!?)(?P<text>\[[^\]]*\])\((?!#)(?![a-z][a-z0-9+.-]*:)(?P<target>[^)\s]+)\)")


def absolute(text: str, repository: str, ref: str) -> str:
    """``text`` with links to the files of ``repository`` at ``ref``, a tag or a commit; images are the bare files."""

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match["image"] else "blob"
        return f"{match['image']}{match['text']}({repository.rstrip('/')}/{kind}/{ref}/{match['target']})"

    return _RELATIVE.sub(link, text)


def main(arguments: list[str]) -> int:
    """Rewrite the file: 0, or 2 with one line where it cannot be done."""
    if len(arguments) != 3 or not re.match(r"https://[^/]+/.", arguments[1]):
        print("usage: python -m tools.absolute_links FILE https://HOST/OWNER/REPOSITORY TAG", file=sys.stderr)
        return 2
    file = Path(arguments[0])
    try:
        file.write_text(absolute(file.read_text(encoding="utf-8"), *arguments[1:]), encoding="utf-8")
    except OSError as error:
        print(f"absolute_links: {file}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
