"""Strings with expressions inside: each is found where it stands, and what ``=`` and ``!`` do to it is known."""

from __future__ import annotations

import textwrap

import pytest

from graphdoctor.lint.engine import analyse
from graphdoctor.static.domain.events import Convert

#: Each reads a tensor with ``.item()`` in the expressions that the marks «» show.
WRITTEN = [
    pytest.param('text = f"a {«x.sum().item()»} b"', id="plain"),
    pytest.param('text = f"x.sum().item() {«x.sum().item()»} {«x.sum().item()»}"', id="the same text three times"),
    pytest.param('text = f"é {«x.sum().item()»:.3f}{{}} {«x.max().item()»!r}"', id="beside letters of two bytes"),
    pytest.param("text = f\"{f'{«x.mean().item()»}'}\"", id="in a string inside"),
    pytest.param('text = "é" f"{«x.sum().item()»}" "é" f"{«x.max().item()»=}"', id="adjacent"),
    pytest.param(
        'text = (\n    f"one {«x.sum().item()»} "\n    f"two {«x.prod().item()»}"\n)', id="adjacent on two lines"
    ),
    pytest.param('text = f"""\n  {«x.sum().item()»} and\n{ «x.max().item()» }"""', id="over several lines"),
    pytest.param('text = f"""{\n x\n}{«x\n  .amin()\n .item()»}"""', id="an expression over several lines"),
]


@pytest.mark.parametrize("written", WRITTEN)
def test_place(tmp_path, written):
    """What a finding points at is the marked code, character by character."""
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n" + textwrap.indent(written, "    ") + "\n    return text\n"
    text += "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"
    plain = text.replace("«", "").replace("»", "")
    file = tmp_path / "model.py"
    file.write_text(plain, encoding="utf-8")
    found = [f.location for f in analyse([(file, "model.py")]).findings if f.rule == "GD211"]
    lines = plain.split("\n")
    begin = [sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1 for place in found]
    end = [sum(len(line) + 1 for line in lines[: place.end_line - 1]) + place.end_column - 1 for place in found]
    for position in sorted([*begin, *end], reverse=True):
        plain = f"{plain[:position]}{'«' if position in begin else '»'}{plain[position:]}"
    assert plain == text


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("{x!r}", ["!r"]),
        ("{x=}", ["!r"]),
        ("{x=!s}", ["!s"]),
        ("{x!a}", ["!a"]),
        ("{x}", []),
        ("{x:.2f}", []),
        ("{x=:.2f}", []),
    ],
)
def test_conversion(events, text, how):
    """``=`` alone shows the ``repr``; with a format it does not, as in Python."""
    found = events(f"import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    return f'{text}'\n")
    assert [e.how for e in found if isinstance(e, Convert)] == how
