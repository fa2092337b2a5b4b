"""The edit that silences a finding by a ``# noqa`` comment. Pure."""

from __future__ import annotations

import io
import tokenize

from graphdoctor.model.findings import Edit
from graphdoctor.source.suppressions import NOQA


def silence(path: str, text: str, line: int, code: str) -> Edit | None:
    """Silence the rule ``code`` at the statement in ``line``: where it ends, in its ``# noqa`` comment if it has one.

    None where the statement cannot be found, because the text has no valid tokens.
    """
    first = comment = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comment = token
            elif token.type == tokenize.NEWLINE:
                if first is not None and first.start[0] <= line <= token.start[0]:
                    return _comment(path, token, comment, code)
                first = comment = None
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = first or token
    except (tokenize.TokenError, SyntaxError):
        return None
    return None


def _comment(path: str, end: tokenize.TokenInfo, comment: tokenize.TokenInfo | None, code: str) -> Edit:
    line, column = end.start
    if comment is not None and comment.start[0] == line:
        noqa = NOQA.search(comment.string)
        if noqa is not None and noqa["codes"]:
            after = (line, comment.start[1] + noqa.end("codes") + 1)
            return Edit(path, after, after, f", {code}")
        if noqa is not None:
            # A second noqa in one comment would not be read.
            return _insert(path, line, column, f"  # graphdoctor: ignore[{code}]")
    return _insert(path, line, column, f"  # noqa: {code}")


def _insert(path: str, line: int, column: int, text: str) -> Edit:
    return Edit(path, (line, column + 1), (line, column + 1), text)
