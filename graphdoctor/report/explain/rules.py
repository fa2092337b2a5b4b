"""The texts of ``graphdoctor rules`` and ``graphdoctor explain``."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphdoctor.breaks.registry import Registry
from graphdoctor.lint.examples import fixed_example
from graphdoctor.report.explain import breaks
from graphdoctor.report.sections import joined, section, wrap
from graphdoctor.report.wording import gb_link

if TYPE_CHECKING:
    from graphdoctor.static.rule import Rule

#: Breaks that only a run saw have this code; it belongs to no rule file.
RUN_ONLY = "GD000"
_RUN_ONLY_PAGE = """\
GD000 [graph-break]

A graph break that happened in the run and that no rule predicted.

What
  Dynamo stopped tracing at this line, and the static pass had not said so. The finding carries the
  reason and the graph-break id that Dynamo gave, and the stack of your code that led there.

Fix
  Read the reason and the hints in the finding, and the page of its graph-break id. A break in a
  library is removed by another version or another option of it, or by a call that Dynamo knows.
"""
#: So have lines at which only torch.export fails (GD001).
_EXPORT_PAGE = """\
GD001 [export]

torch.export fails at this line, and no rule predicted it. Only `graphdoctor scan --export` looks for it.

What
  The model was exported with the sample input in both ways: strict=True traces it with Dynamo,
  strict=False runs its Python code on tensors without values. The finding says which of them fail
  here. What breaks the graph under torch.compile mostly fails here too, and is found as that.

Fix
  A number that comes from tensor data must not decide: use torch.cond or torch.where, or say with
  torch._check what is always true of it. Types of your own in arguments and outputs have to be
  registered: torch.export.register_dataclass.
"""
#: And comments that silence nothing (GD002).
_UNUSED_PAGE = """\
GD002 [unused-suppression]

A comment that silences findings, on a line where there are none.

What
  A `# noqa: GD101` or `# graphdoctor: ignore[GD101]` names a rule that finds nothing there, or no
  rule at all. Reported only where the scan can know: the statement was looked at, the rule was
  selected, and no run that was left out could find something. Codes of other tools and comments
  without codes are left alone.

Why
  Such a comment hides what the rule will find on this line one day.

Fix
  Remove the code from the comment, or the comment.
"""


#: And so have misses of compile caches (GD003), which a trace shows.
_CACHE_MISS_PAGE = """\
GD003 [compile-cache-miss]

Compiled code that was not taken from a cache, in a trace.

What
  `graphdoctor trace NEW --against OLD` compares the key of each compilation that missed the cache
  with its key in the run before, and names the parts that changed: a setting of Inductor, an input,
  the graph, the device, the build of torch. Where nothing changed, the cache was not there. What
  torch refuses to cache at all is reported without --against too.

Why
  The code is generated and compiled again, which a warm cache would have saved.

Fix
  Keep the part the same in all runs that share the cache; the finding says how.
"""
_RULELESS_PAGES = (_RUN_ONLY_PAGE, _EXPORT_PAGE, _UNUSED_PAGE, _CACHE_MISS_PAGE)


def table(rules: Sequence[Rule]) -> str:
    """One line a rule: code, name, severity, graph-break ids, summary."""
    rows = [(rule.code, rule.name, rule.severity, rule.torch, " ".join(rule.gb_ids)) for rule in rules]
    heads = ("CODE", "NAME", "SEVERITY", "TORCH", "GRAPH BREAKS")
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = []
    for row, summary in zip([heads, *rows], ["SUMMARY", *(rule.summary for rule in rules)], strict=True):
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=True)]
        lines.append("  ".join([*cells, summary]).rstrip())
    return "\n".join(lines) + "\n"


def page(rule: Rule, registry: Registry) -> str:
    """All of a rule's documentation, and the types of its graph breaks."""
    pair = fixed_example(rule)
    others = [example for example in rule.breaks if pair is None or example.strip("\n") != pair.before.strip("\n")]
    sections = [
        f"{rule.code} [{rule.name}]  {rule.severity}, torch {rule.torch}",
        wrap(rule.summary),
        section("What", wrap(rule.what, "  ")),
        section("Why", wrap(rule.why, "  ")),
        section("Fix", wrap(rule.how, "  ")),
        *([_example("Before", pair.before), _example("With the fix", pair.after)] if pair is not None else []),
        *(_example("Also breaks" if pair is not None else "Breaks", example) for example in others),
        *(_example("Does not break", example) for example in rule.clean),
        section("Graph breaks", "\n".join(_graph_break(gb_id, registry) for gb_id in rule.gb_ids)),
    ]
    return joined(sections)


def _example(title: str, source: str) -> str:
    return section(title, textwrap.indent(source.strip("\n"), "    "))


def explain(code: str, rules: Sequence[Rule], registry: Registry) -> str:
    """The page for ``code``: a rule's code or name, or a graph-break id.

    Raises LookupError with one line for the user when there is no such rule or graph break.
    """
    wanted = code.strip()
    for text in _RULELESS_PAGES:
        if wanted.lower() in re.findall(r"[\w-]+", text.partition("\n")[0].lower()):
            return text
    for rule in rules:
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return page(rule, registry)
    if re.fullmatch(r"GB\d+", wanted.upper(), re.ASCII):
        return breaks.page(wanted.upper(), registry, rules)
    close = _near(wanted, rules)[:3]
    hint = f"did you mean {' or '.join(close)}?" if close else "`graphdoctor rules` lists all rules"
    raise LookupError(f"no rule is called {wanted!r}; {hint}")


def _near(wanted: str, rules: Sequence[Rule]) -> list[str]:
    """The codes that begin as ``wanted`` does, else the names with its last word, as ``item`` of ``x.item()``, else
    what is spelled alike, and the rules that are about such code.
    """
    begun = [
        rule.code for rule in rules if re.fullmatch(r"GD\d+", wanted.upper()) and rule.code.startswith(wanted.upper())
    ]
    word = (re.findall(r"\w+", wanted.lower()) or [""])[-1]
    named = [rule.name for rule in rules if word in rule.name.split("-")]
    known = [name for rule in rules for name in (rule.code, rule.name)]
    about = [rule.name for rule in rules if word and re.search(rf"\b{word}", f"{rule.summary} {rule.what}".lower())]
    return begun or named or difflib.get_close_matches(wanted, known, n=3, cutoff=0.75) or about


def _graph_break(gb_id: str, registry: Registry) -> str:
    entry = registry.get(gb_id)
    return f"  {gb_id}  {f'{entry.gb_type}  ' if entry else ''}{gb_link(gb_id)}"
