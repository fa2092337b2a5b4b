"""Web pages from the rule files and Dynamo's registry: plain HTML, one stylesheet, no request to anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graphdoctor import __version__
from graphdoctor.breaks.registry import Registry
from graphdoctor.lint.examples import FixedExample, fixed_example
from graphdoctor.report.explain.breaks import describe
from graphdoctor.report.wording import gb_link, quoted

if TYPE_CHECKING:
    from graphdoctor.static.rule import Rule

#: What the hundreds of the codes stand for.
FAMILIES = {
    "GD1": "Output",
    "GD2": "Tensor data in Python",
    "GD3": "Shapes that depend on data",
    "GD4": "Python outside the graph",
    "GD5": "What Dynamo does not trace",
    "GD6": "Use of libraries",
    "GD7": "Recompiles",
}
_MARK = re.compile(r"(#(?: GB\d{4}| raises| flagged)+)$")


@dataclass(frozen=True)
class Guide:
    """A page of ``docs/``: where it goes, what the menu calls it, and its text as HTML."""

    path: str
    title: str
    body: str


def one_page(rules: Sequence[Rule], registry: Registry) -> str:
    """All rules in one file, with filters; links to graph breaks go to PyTorch's site."""
    return _render(
        "rules.html",
        rules=rules,
        registry=registry,
        fixed=_fixed(rules),
        single=True,
        base="",
        stylesheet=asset("site.css"),
        script=_script(),
    )


def site(rules: Sequence[Rule], registry: Registry, guides: Sequence[Guide]) -> dict[str, str]:
    """The files of the documentation site by path: index, rules, graph breaks, guides, stylesheet, script."""
    shared = {"rules": rules, "registry": registry, "guides": guides, "fixed": _fixed(rules), "single": False}
    files = {"site.css": str(asset("site.css")), "filter.js": str(_script())}
    files["index.html"] = _render("rules.html", base="", **shared)
    files["breaks.html"] = _render("breaks.html", base="", **shared)
    for number, rule in enumerate(rules):
        before, after = rules[number - 1] if number else None, rules[number + 1] if number + 1 < len(rules) else None
        path = f"rules/{rule.code}.html"
        files[path] = _render("rule.html", rule=rule, before=before, after=after, base="../", **shared)
    for gb_id, entry in sorted(registry.items()):
        predicting = [rule for rule in rules if gb_id in rule.gb_ids]
        words = describe(gb_id, entry)
        files[f"breaks/{gb_id}.html"] = _render(
            "break.html", gb_id=gb_id, words=words, predicting=predicting, base="../", **shared
        )
    for guide in guides:
        files[guide.path] = _render("guide.html", guide=guide, base="../", **shared)
    return files


def _fixed(rules: Sequence[Rule]) -> dict[str, FixedExample]:
    """By code, an example and what the fix makes of it."""
    return {rule.code: found for rule in rules if (found := fixed_example(rule)) is not None}


def family(rule: Rule) -> str:
    """What the rule is about, by its code."""
    return FAMILIES.get(rule.code[:3], "Other")


@cache
def asset(name: str) -> Markup:
    """A file of ``templates/`` as it stands: ours, so not to be escaped."""
    loader = _environment().loader
    assert loader is not None
    return Markup(loader.get_source(_environment(), name)[0])


def _script() -> Markup:
    return asset("filter.js")


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("graphdoctor.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(prose=_prose, inline=_inline, example=_example, family=family)
    environment.globals.update(gb_link=gb_link, version=__version__)
    return environment


def _prose(text: str) -> Markup:
    """Paragraphs, escaped, with what stands between backticks as code."""
    return Markup("\n").join(Markup("<p>{}</p>").format(_inline(part)) for part in text.split("\n\n"))


def _inline(text: str) -> Markup:
    parts = quoted(text)
    return Markup().join(Markup("<code>{}</code>").format(part) if is_code else part for part, is_code in parts)


def _example(source: str) -> Markup:
    """A program, with the lines that a comment says to break marked."""
    lines = []
    for line in source.strip("\n").split("\n"):
        marked = _MARK.search(line)
        lines.append(Markup("<mark>{}</mark>").format(line) if marked else Markup("{}").format(line))
    return Markup("<pre tabindex=0><code>{}</code></pre>").format(Markup("\n").join(lines))
