"""Choices in the odder places of a program: inside expressions, of numbers, with other targets, in a match."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.arms import pair
from benchmarks.fix_safety.grammar.conditions import condition
from benchmarks.fix_safety.grammar.draft import Draft

_NAMED = ("(s := x.sum()) > {k}", "(s := x.sum().item()) > {k}", "{flag} and (s := x.max()) > {k}", "(s := x).any()")
_NUMBERS = (
    ("2", "3"), ("0.5", "2.0"), ("True", "False"), ("0", "1"), ("-1", "0"), ("1", "1.5"), ("'a'", "'b'"),
    ("0.1", "1e-3"),
)  # fmt: skip
_USES = (
    "x * k", "x + k", "[x] * k", "x[k]", "(x, 'ab'[k])", "torch.full((2,), k)", "x.sum(dim=k)", "{2: x, 3: -x}.get(k)",
    "(x, f'{k}')", "(x, k)", "(x, type(k).__name__)", "x ** k", "x.clamp(min=k)", "(x, list(range(k)))",
    "torch.tensor(k)", "(x, k + 1)", "x / k", "x // k", "(x, k is True)", "x.mul(k)", "x.add(x, alpha=k)",
    "torch.dropout(x, k, True)", "(x, {k: 1})", "(x, not k)", "x if k else -x", "x.roll(k)", "(x, str(k))",
    "(x, k == 2)", "torch.add(x, k)", "x.float() * k", "x.int() * k", "x.half() + k", "(x, max(k, 1))",
    "(x, [1, 2, 3][:k])", "x.clamp(max=k)", "x > k",
)  # fmt: skip
_INLINE = (
    "y = torch.relu({c})", "y = ({c}).sum()", "y = [{c}, 1]", "y = {'a': {c}}", "y = f'{{c}}'", "y = x + ({c}) * 2",
    "y = (lambda v: v)({c})", "{COUNTS}.append({c})\ny = x", "y = {same}(value={c})", "y = -({c})", "y = ({c})[0]",
    "y, z = {c}, x", "y = x; y += ({c})", "y = (x, *[{c}])", "y = not ({c})", "y = ({c}) is x", "y = {c}, x",
    "y = str({c})", "y = ({c}) or x", "y = torch.stack([{c}, {c}])", "y = x if ({c}) is None else {c}",
    "y = (z := ({c}))", "for v in [{c}]:\n    y = v", "y = x[({c}) > 0]", "y = {b}\ny -= {c}", "y = {same}({c}) is x",
    "y = x\ny[...] = {c}",
)  # fmt: skip
_TARGETS = (
    ("y = z = {a}", "y = z = {b}"), ("y: torch.Tensor = {a}", "y: torch.Tensor = {b}"),
    ("y, z = {a}, {c}", "y, z = {b}, {d}"), ("y = {a}\ny = y + 1", "y = {b}"),
    ("d = {}\nd['k'] = {a}\ny = d", "y = {b}"), ("y = {a}\npass", "y = {b}"), ("'side'\ny = {a}", "y = {b}"),
    ("{LOUD}.held = {a}\ny = {LOUD}.held", "y = {b}"), ("y = {a}", "y = {b}\nz = {c}"), ("y = {a}", "y = x\ny = {b}"),
    ("[y] = [{a}]", "[y] = [{b}]"), ("*y, = {a}, 1", "y = {b}"), ("y = ({a},)", "y = ({b},)"),
    ("z = {c}\ny = z * 2", "y = {b}"), ("z = {c}\ny = {a}", "z = {d}\ny = z"), ("{LOUD}.shown = {a}\ny = 1", "y = 2"),
    ("y = {a}\nx = y", "x = {b}\ny = x"), ("y = {a}  # one", "# two\ny = {b}"), ("y = {a}\ndel x", "y = {b}"),
    ("y = (\n    {a}\n)", "y = {b}"), ("x = {a}\ny = {c}", "x = {b}\ny = {d}"), ("y = {a}", "raise ValueError"),
)  # fmt: skip
_SUBJECTS = (
    ("bool({t})", "True"),
    ("x.ndim", "2 if {t}"),
    ("x.sum().item()", "0"),
    ("({t})", "True"),
    ("x", "torch.Tensor() if {t}"),
)


def named_in_the_test(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """The test assigns a name that a side reads."""
    draft.features.add("assignment expression")
    test = draft.fill(draft.pick(_NAMED))
    first, second = pair(draft, base, is_tensor)
    value = draft.pick((f"({first}) * s", first, "s"))
    if draft.chance(0.5):
        return [f"y = {value} if {test} else {second}"], "y"
    last = "y = (y, s)" if draft.chance(0.3) else "pass"
    return [f"if {test}:", f"    y = {value}", "else:", f"    y = {second}", last], "y"


def number(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """A Python value is chosen, and used where a tensor may mean something else."""
    draft.features.add("a number chosen")
    first, second = draft.pick(_NUMBERS)
    use, test = draft.pick(_USES), condition(draft, subject)
    if draft.chance(0.5):
        return [f"k = {first} if {test} else {second}", f"y = {use}"], "y"
    if draft.chance(0.4):
        return [f"k = {second}", f"if {test}:", f"    k = {first}", f"y = {use}"], "y"
    return [f"if {test}:", f"    k = {first}", "else:", f"    k = {second}", f"y = {use}"], "y"


def inline(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """A conditional expression in the middle of another expression."""
    draft.features.add("inline choice")
    first, second = pair(draft, base, is_tensor)
    chosen = f"{first} if {condition(draft, subject)} else {second}"
    return draft.fill(draft.pick(_INLINE), b=base, c=chosen).split("\n"), "y"


def odd_targets(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """Sides that assign in other ways than one name each."""
    draft.features.add("odd targets")
    (a, b), (c, d) = pair(draft, base, is_tensor), pair(draft, base, is_tensor)
    sides = [draft.fill(side, a=a, b=b, c=c, d=d).split("\n") for side in draft.pick(_TARGETS)]
    lines = [f"if {condition(draft, subject)}:", *draft.block(sides[0])]
    return [*lines, "else:", *draft.block(sides[1])] if draft.chance(0.8) else ["y = z = x", *lines], "y"


def matched(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """A match statement that asks for tensor data."""
    draft.features.add("match")
    first, second = pair(draft, base, is_tensor)
    test = condition(draft, subject)
    matching, case = (text.replace("{t}", test) for text in draft.pick(_SUBJECTS))
    return [
        f"match {matching}:",
        f"    case {case}:",
        f"        y = {first}",
        "    case _:",
        f"        y = {second}",
    ], "y"


FORMS = (named_in_the_test, number, number, inline, inline, odd_targets, odd_targets, matched)
