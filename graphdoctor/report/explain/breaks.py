"""The page of ``graphdoctor explain`` for a graph-break id of Dynamo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphdoctor.breaks.explanations import WORDS
from graphdoctor.breaks.registry import Entry, Registry
from graphdoctor.report.explain.families import KINDS, family
from graphdoctor.report.sections import items, joined, section, wrap
from graphdoctor.report.wording import gb_link

if TYPE_CHECKING:
    from graphdoctor.static.rule import Rule


@dataclass(frozen=True)
class Description:
    """A graph break in words. ``explanation``, which may be empty, and ``hints`` are those of Dynamo in ``torch``."""

    gb_type: str
    what: tuple[str, ...]
    why: str
    fix: tuple[str, ...]
    torch: str
    explanation: str
    hints: tuple[str, ...]


def describe(gb_id: str, entry: Entry) -> Description:
    """What the break is, why it happens, how to fix it."""
    cause = family(entry)
    known = WORDS.get(gb_id, ())
    # What the words with a pattern are about may not be all of it.
    covered = any(not words.pattern for words in known)
    return Description(
        gb_type=entry.gb_type,
        what=(*(_sentence(words.general) for words in known), *(() if covered else (cause.what,))),
        why=" ".join((cause.why, *(KINDS[kind] for kind in entry.kinds))),
        # Different reasons may have the same hint.
        fix=(*dict.fromkeys(words.general_hint for words in known), *(() if covered else (cause.fix,))),
        torch=entry.torch,
        explanation=entry.explanation,
        hints=entry.hints,
    )


def page(gb_id: str, registry: Registry, rules: Sequence[Rule]) -> str:
    """What the break is, why it happens, how to fix it, and which rules predict it.

    Raises LookupError with one line for the user when the registry has no such id.
    """
    entry = registry.get(gb_id)
    if entry is None:
        raise LookupError(
            f"{gb_id} is none of the {len(registry)} known graph breaks; "
            f"if a newer torch has it, its page is {gb_link(gb_id)}"
        )
    words = describe(gb_id, entry)
    return joined(
        (
            f"{gb_id}  {words.gb_type}",
            section("What", items(words.what)),
            section("Why", items([words.why])),
            section("Fix", items(words.fix)),
            section(f"Dynamo says (torch {words.torch})", items([words.explanation] if words.explanation else [])),
            section("Dynamo's hints", items(words.hints)),
            section("Rules that predict it", _rules([rule for rule in rules if gb_id in rule.gb_ids])),
            section("Read more", f"  {gb_link(gb_id)}"),
        )
    )


def _rules(predicting: Sequence[Rule]) -> str:
    if not predicting:
        return items(["None: only a run shows it, as GD000."])
    names = [f"{rule.code} [{rule.name}]" for rule in predicting]
    width = max(map(len, names))
    return "\n".join(
        wrap(f"{name:{width}}  {rule.summary}", "  ", " " * (width + 4))
        for name, rule in zip(names, predicting, strict=True)
    )


def _sentence(words: str) -> str:
    """With a capital, unless it begins with a name of the code, and a full stop."""
    capital = words[0].upper() if words.split()[0].isalpha() else words[0]
    return f"{capital}{words[1:].removesuffix('.')}."
