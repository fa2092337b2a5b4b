"""Statements that choose by tensor data: if, elif, else, conditional expressions, while, assert, and early returns."""

from __future__ import annotations

from benchmarks.fix_safety.grammar import odd_choices
from benchmarks.fix_safety.grammar.arms import arm, pair
from benchmarks.fix_safety.grammar.conditions import condition
from benchmarks.fix_safety.grammar.draft import Draft

#: What a name may hold before a choice assigns it again: not always a tensor, and not always a new one.
_BEFORE = (
    "x", "x * 1", "x.clone()", "x.view(-1)", "x.detach()", "x.abs()", "x[:1]", "x.sum()", "x.float()", "x.t()", '"ok"',
    "3", "2.5", "[1, 2]", "None", "True", "{n}", "{number}", "{anything}", "{held}", "{o}", "{e}", "x.shape[0]",
    "x.tolist()", "x.sum().item()", "(x,)", "{DICT}", "x.shape", "{ITEMS}", "x.numel()", "x.max().item()", "{layer}(x)",
    "len(x)", "torch.zeros(3)", "x.int()", "x.max(-1)", "x > 0", "x.dtype", "x.numpy()", "np.float32(2.5)", "1j",
    "x if {flag} else 3", "{n} if {flag} else x", "float(x.sum())", "x.long().tolist()",
    "torch.nn.Parameter(torch.ones(3))",
)  # fmt: skip
#: What shows that a name holds a new tensor of floats, as far as source can.
_SURE = (
    "x.float()", "x * 1.0", "x.double()", "x.to(torch.float32)", "torch.relu(x.float())", "{layer}(x)", "x.float() + 1",
    "torch.zeros(2, 3)", "x.float().clone()", "torch.zeros_like(x, dtype=torch.float32)", "F.relu(x)", "x.abs()",
    "x + 1", "x * 2", "x.clone()", "x.detach().clone()", "F.softmax(x.float(), -1)", "torch.ones(3) * x",
    "x.float().mean(-1)", "x.sum()",
)  # fmt: skip
_TENSORS = 10


def prepared(draft: Draft) -> tuple[list[str], str, bool]:
    """Lines that give a name a value, the name, and whether it holds a tensor for sure. Often it is the argument."""
    name = draft.pick(("y", "tag", "out", "h"))
    if draft.odd(0.35):
        number = draft.rng.randrange(len(_BEFORE)) if draft.chance(0.7) else draft.rng.randrange(_TENSORS)
        value = draft.fill(_BEFORE[number])
        if number >= _TENSORS:
            draft.features.add("names of any type")
        return [f"{name} = {value}"], name, number < _TENSORS
    if draft.chance(0.5):
        return [], "x", True
    draft.features.add("a new tensor")
    return [f"{name} = {draft.fill(draft.pick(_SURE))}"], name, True


def choice(draft: Draft) -> tuple[list[str], str]:
    """Lines of a choice, and the name that holds what was chosen; empty where the function returned it."""
    lines, base, is_tensor = prepared(draft)
    subject = "x" if draft.chance(0.7) or not is_tensor else base
    form = draft.pick(_FORMS)
    made, name = form(draft, base, subject, is_tensor)
    return lines + made, name


def _two_arms(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    first, second = pair(draft, base, is_tensor)
    name = draft.pick(("y", "y", base, "z"))
    test = condition(draft, subject)
    if draft.chance(0.1):
        return [f"if {test}: {name} = {first}", f"else: {name} = {second}"], name
    return [f"if {test}:", f"    {name} = {first}", "else:", f"    {name} = {second}"], name


def _one_arm(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    value = arm(draft, base, is_tensor)
    if draft.chance(0.2):
        helper = draft.fill(
            draft.pick(("{k}", "torch.finfo({b}.dtype).max", "{b}.abs()", "{b}.max()", "{n}", "{held}")), b=base
        )
        used = draft.fill(
            draft.pick(("{b} * limit", "torch.clamp({b}, -limit, limit)", "{b} + limit", "limit")), b=base
        )
        return [f"if {condition(draft, subject)}:", f"    limit = {helper}", f"    {base} = {used}"], base
    return [f"if {condition(draft, subject)}:", f"    {base} = {value}"], base


def _elif(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    draft.features.add("elif")
    (first, second), third = pair(draft, base, is_tensor), arm(draft, base, is_tensor)
    tests = condition(draft, subject), condition(draft, subject)
    if draft.chance(0.15):
        tests = (tests[0], draft.fill(draft.pick(("{anything} == 3", "{n} == -1", "{flag}", "{number} > 1", "{LOUD}"))))
    lines = [f"if {tests[0]}:", f"    y = {first}", f"elif {tests[1]}:", f"    y = {second}"]
    if draft.chance(0.2):
        return [f"y = {third}", *lines], "y"
    return [*lines, "else:", f"    y = {third}"], "y"


def _several(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    draft.features.add("several targets")
    (a, b), (c, d) = pair(draft, base, is_tensor), pair(draft, base, is_tensor)
    other = draft.pick(("z", "z", draft.hold("torch.zeros(())") if draft.is_net else "z"))
    names = draft.pick((("y", other), (base, other), (other, base)))
    lines = [f"if {condition(draft, subject)}:", f"    {names[0]} = {a}", f"    {names[1]} = {c}", "else:"]
    order = names if draft.chance(0.7) else names[::-1]
    lines += [f"    {order[0]} = {b}", f"    {order[1]} = {d}"]
    if draft.chance(0.3):
        lines.append(f"{names[0]} = ({names[0]}, {names[1]})")
    return lines, names[0]


def _returns(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    first, second = pair(draft, base, is_tensor)
    test = condition(draft, subject)
    middle = []
    if draft.chance(0.25):
        start = draft.pick(("elif", "if"))
        middle = [f"{start} {condition(draft, subject)}:", f"    return {arm(draft, base, is_tensor)}"]
    if draft.chance(0.3):
        return [f"if {test}:", f"    return {first}", *middle, "else:", f"    return {second}"], ""
    return [f"if {test}:", f"    return {first}", *middle, f"return {second}"], ""


def _expression(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    first, second = pair(draft, base, is_tensor)
    chosen = f"{first} if {condition(draft, subject)} else {second}"
    if draft.chance(0.2):
        return [f"y = {base} + ({chosen})"], "y"
    if draft.chance(0.15):
        return [f"return {chosen}"], ""
    if draft.chance(0.15):
        chosen = f"{first} if {condition(draft, subject)} else ({chosen})"
    return [
        f"{draft.pick(('y', base))} = {chosen}",
    ][:1] if draft.chance(0.0) else [f"y = {chosen}"], "y"


def _own_attribute(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """An attribute of the module, or a global, is what is assigned."""
    first, second = pair(draft, base, is_tensor)
    test = condition(draft, subject)
    if not draft.is_net:
        draft.use("COUNT")
        lines = ["global COUNT", f"if {test}:", f"    COUNT = {first}"]
        return (lines if draft.chance(0.5) else [*lines, "else:", f"    COUNT = {second}"]), "COUNT"
    draft.features.add("attribute assigned")
    held = draft.hold(
        draft.pick(("torch.zeros(())", "0", "0.5", "None", "False", "[]", "torch.zeros(2, 3)", "3", '"no"'))
    )
    if draft.chance(0.5):
        value = draft.pick((first, f"{held} * 2", f"{held} + 1", "True", "torch.ones(())", f"{held} + {base}"))
        return [
            f"if {test}:",
            f"    {held} = {value}",
            f"y = {base}" if draft.chance(0.5) else f"y = ({base}, {held})",
        ], "y"
    return [f"if {test}:", f"    {held} = {first}", "else:", f"    {held} = {second}", f"y = {held}"], "y"


def _nested(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    (a, b), c = pair(draft, base, is_tensor), arm(draft, base, is_tensor)
    lines = [f"if {condition(draft, subject)}:", f"    y = {a}", "else:", f"    y = {b}"]
    shape = draft.rng.randrange(4)
    if shape == 0:
        return [f"y = {c}", "for step in range(2):", *draft.block(lines)], "y"
    if shape == 1:
        test = draft.fill(draft.pick(("{flag}", "{n} > 1", "x.ndim == 2", "x.numel() > 0")))
        return [f"y = {c}", f"if {test}:", *draft.block(lines)], "y"
    if shape == 2:
        return ["try:", *draft.block(lines), "except (RuntimeError, TypeError):", f"    y = {c}"], "y"
    return [f"if {condition(draft, subject)}:", *draft.block(lines), "else:", f"    y = {c}"], "y"


def _inner_function(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """The choice stands in a closure, a lambda or a comprehension."""
    draft.features.add("closure")
    first, second = pair(draft, base, is_tensor)
    test = condition(draft, subject)
    shape = draft.rng.randrange(4)
    if shape == 0:
        outer = f"nonlocal {base}" if base != "x" or draft.chance(0.5) else "pass"
        body = (
            [outer, f"if {test}:", f"    {base} = {first}"]
            if outer != "pass"
            else [f"if {test}:", f"    return {first}", f"return {second}"]
        )
        tail = ["inner()", f"y = {base}"] if outer != "pass" else ["y = inner()"]
        return ["def inner():", *draft.block(body), *tail], "y"
    if shape == 1:
        return [f"pick = lambda: {first} if {test} else {second}", "y = pick()"], "y"
    if shape == 2:
        return [f"y = [{first} if {test} else {second} for _ in range(2)]"], "y"
    return [
        f"def inner(v={base}):",
        f"    if {test}:",
        f"        v = {arm(draft, 'v', is_tensor)}",
        "    return v",
        "y = inner()",
    ], "y"


def _in_place(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    """Sides that write instead of assigning."""
    draft.features.add("in-place side")
    writes = (
        "{b} += 1",
        "{b}.add_(1)",
        "{b}[0] = 0",
        "{b} *= 2",
        "{b}.zero_()",
        "{COUNTS}.append(1)",
        "{b}.data = {b} * 2",
    )
    one = draft.fill(draft.pick(writes), b=base)
    return [f"if {condition(draft, subject)}:", f"    {one}"], base


def _loop(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    draft.features.add("while")
    return [
        "steps = 0", f"while {condition(draft, 'x')}:", "    steps += 1", f"    x = {arm(draft, 'x')}",
        "    if steps > 3:", "        break", "y = (x, steps)",
    ], "y"  # fmt: skip


def _check(draft: Draft, base: str, subject: str, is_tensor: bool) -> tuple[list[str], str]:
    draft.features.add("check")
    test = condition(draft, subject)
    message = draft.fill(
        draft.pick(('"bad"', 'f"bad {{b}.sum()}"', "str({b}.shape)", "next({IT})", "{helper}({b})")), b=base
    )
    shape = draft.rng.randrange(4)
    if shape == 0:
        return [f"assert {test}, {message}", f"y = {arm(draft, base, is_tensor)}"], "y"
    if shape == 1:
        return [f"assert {test}", f"y = {arm(draft, base, is_tensor)}"], "y"
    raised = [f"if {test}:", f"    raise ValueError({message})", f"y = {arm(draft, base, is_tensor)}"]
    if shape == 2:
        return raised, "y"
    return ["try:", *draft.block(raised), "except ValueError as error:", "    y = str(error)"], "y"


_FORMS = (
    *(_two_arms,) * 5, *(_one_arm,) * 5, *(_elif,) * 3, *(_several,) * 2, *(_returns,) * 4, *(_expression,) * 4,
    *(_own_attribute,) * 2, *odd_choices.FORMS, _nested, _nested, _inner_function, _in_place, _loop, _check,
)  # fmt: skip
