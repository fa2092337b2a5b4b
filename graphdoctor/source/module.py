"""A source file, read and parsed: text, libcst tree, positions on demand."""

from __future__ import annotations

import gc
import io
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from graphdoctor.model import Location
from graphdoctor.source.skeleton import Skeleton
from graphdoctor.source.text import split_lines


class SourceError(Exception):
    """A file that cannot be analysed; the text is one line for the user."""


class SourceModule:
    """One parsed file. ``path`` is the one that findings show, ``file`` the one on disk.

    With a ``skeleton`` the tree is that of the skeleton: no node of it has a location, so there can be no findings.
    """

    def __init__(self, path: str, file: Path, text: str, encoding: str, skeleton: Skeleton | None = None) -> None:
        self.path = path
        self.file = file
        self.text = text
        self.encoding = encoding
        self._skeleton = skeleton
        try:
            with _collector_paused():
                self.tree = cst.parse_module(text if skeleton is None else skeleton.text)
        except cst.ParserSyntaxError as error:
            raise SourceError(f"syntax error in line {error.raw_line}: {error.message.splitlines()[0]}") from None
        except RecursionError:
            raise SourceError("too deeply nested to parse") from None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The source lines without their ends."""
        return tuple(split_lines(self.text))

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        # A tree fresh from the parser has no shared nodes, so the copy that MetadataWrapper makes is not needed.
        return MetadataWrapper(self.tree, unsafe_skip_copy=True).resolve(PositionProvider)

    def location(self, node: cst.CSTNode) -> Location:
        """Where ``node`` stands, without surrounding whitespace."""
        span = self._positions[node]
        return Location(self.path, span.start.line, span.start.column + 1, span.end.line, span.end.column + 1)

    def body(self, function: cst.FunctionDef) -> cst.BaseSuite:
        """The body of a function of the tree; parsed now where the tree is that of a skeleton."""
        return function.body if self._skeleton is None else self._skeleton.body(function)

    def code(self, node: cst.CSTNode) -> str:
        """The text of ``node`` as it stands in the file."""
        return self.tree.code_for_node(node)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without the cyclic garbage collector: a parse makes a dozen nodes a line, and none of them is garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read(file: Path) -> tuple[str, str]:
    """The text of ``file`` and its encoding (PEP 263). Raises SourceError with one line for the user."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from None
    return decode(data)


def decode(data: bytes) -> tuple[str, str]:
    """The text of a source file's bytes and its encoding (PEP 263). Raises SourceError."""
    if b"\0" in data:
        raise SourceError("contains null bytes, so it is not Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(f"cannot be decoded: {reason}") from None


def parse(file: Path, path: str) -> SourceModule:
    """Read and parse ``file``; ``path`` is its name in findings. Raises SourceError."""
    text, encoding = read(file)
    return SourceModule(path, file, text, encoding)


def text_of(file: Path) -> str:
    """The text of ``file``; empty when it cannot be read or decoded."""
    try:
        return read(file)[0]
    except SourceError:
        return ""
