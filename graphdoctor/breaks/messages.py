"""The message of a graph break, parsed. Pure.

Since torch 2.7 (torch/_dynamo/exc.py, format_graph_break_message) a message reads: the gb_type on a line, then
``Explanation:``, ``Hint:`` lines, ``Developer debug context:`` and, since 2.8, a link that holds the GB id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphdoctor.breaks.old_messages import id_and_words

_CHAIN = re.compile(r"\n+\*\*\* While handling this graph break, another graph break occurred: \*\*\*\n+")
_HEAD = re.compile(r"^(?P<type>[^\n]+)\n  Explanation: (?P<rest>.*)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"/gb/gb(\d+)\.html")
#: The operator that failed and its arguments stand in front of what it raised, and are long.
_OPERATOR = re.compile(r"Dynamo failed to run FX node with fake tensors: .*?\): got (?=\w+\()", re.DOTALL)
_END = re.compile(r"\n\s*\n?  Developer debug context:|\n\n For more details about|\n\nfrom user code:")
_CONTEXT = re.compile(r"Developer debug context: (.*?)(?:\n\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Message:
    """One graph break. ``gb_type`` is None where the text has none (torch < 2.7, a UserError), ``gb_id`` where no id is
    known.
    """

    gb_type: str | None
    gb_id: str | None
    explanation: str
    hints: tuple[str, ...] = ()
    context: str = ""


def parse(text: str) -> Message:
    """The parts of the message ``text``. Of a chain of breaks, it is the first one: the root cause."""
    part = _OPERATOR.sub("", _CHAIN.split(text)[0])
    head = _HEAD.search(part)
    link = _LINK.search(part)
    gb_id = f"GB{link[1]}" if link else None
    if head is None:
        # A record of the structured trace may name the class of the error first.
        part = part.removeprefix("Unsupported: ")
        known = id_and_words(part) if gb_id is None else None
        return Message(None, known[0] if known else gb_id, one_line(part), context=known[1] if known else "")
    body, *hints = re.split(r"\n\s*Hint: ", _END.split(head["rest"])[0])
    context = _CONTEXT.search(part)
    return Message(
        gb_type=head["type"].strip(),
        gb_id=gb_id,
        explanation=" ".join(body.split()),
        hints=tuple(" ".join(hint.split()) for hint in hints if hint.strip()),
        context=" ".join(context[1].split()) if context else "",
    )


def one_line(text: str, limit: int = 300) -> str:
    """The first line of ``text`` with content, cut at ``limit`` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"
