"""Names, frames and builtins that fixes spell in another way: globals(), frames, pow, callable, copies of dicts."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_GLOBALS = (
    ["y = x * globals()['SCALE']"], ["scale = globals()['SCALE']", "y = x * scale"],
    ["g = globals()", "y = x * g['SCALE']"], ["globals()['SCALE'] += 1", "y = x * SCALE"],
    ["globals()['SCALE'] = 3.0", "y = x * SCALE"], ["SCALE = 5.0", "y = x * globals()['SCALE'] + SCALE"],
    ["y = x * [globals()['SCALE'] for SCALE in range(2)][0]"], ["y = x * (lambda SCALE: globals()['SCALE'])(7)"],
    ["y = x * globals().get('SCALE', 1)"], ["y = x * globals()['class']"], ["y = x * globals()['__hidden']"],
    ["y = x * globals()['ﬁ']"], ["y = x * globals()['True']"],
    ["def inner():", "    return globals()['SCALE']", "SCALE = 9.0", "y = x * inner() + SCALE"],
    ["class Local:", "    SCALE = 4.0", "    value = globals()['SCALE']", "y = x * Local.value"],
    ["y = x * globals()['SCALE'] if 'SCALE' in globals() else x"],
    ["globals()['FRESH'] = 3", "y = x * globals()['FRESH']"], ["y = x * next(globals()['SCALE'] for SCALE in [8.0])"],
    ["exec('SCALE = 6.0')", "y = x * globals()['SCALE']"], ["y = x * globals()['SCALE']; SCALE = 1.0"],
    ["g = globals()", "g['SCALE'] = 4.0", "y = x * g['SCALE']"],
    ["y = x", "for SCALE in range(2):", "    y = y + globals()['SCALE']"], ["y = globals()['pure'](x)"],
    ["y = x * (globals()['SCALE'] if x.ndim else SCALE)"],
    ["def inner(SCALE):", "    return globals()['SCALE'] + SCALE", "y = x * inner(2)"],
    ["with contextlib.nullcontext(3.0) as SCALE:", "    y = x * globals()['SCALE']"],
    ["import math as SCALE", "y = x * globals()['SCALE']"],
    ["try:", "    raise ValueError", "except ValueError as SCALE:", "    y = x * globals()['SCALE']"],
    ["y = x * globals()[f'SCALE']"], ["y = x * globals()['SC' 'ALE']"], ["del globals()['SCALE']", "y = x"],
    ["(SCALE := 3.0)", "y = x * globals()['SCALE']"], ["y = x * eval('SCALE') * globals()['SCALE']"],
    ["y = x * globals()['__debug__']"],
    ["g = globals()", "def inner(SCALE):", "    return g['SCALE'] + SCALE", "y = x * inner(2)"],
    ["y = x * globals()['SCALE'].real"],
)  # fmt: skip
_FRAMES = (
    ["name = sys._getframe().f_code.co_name"], ["name = (lambda: sys._getframe().f_code.co_name)()"],
    ["name = [sys._getframe().f_code.co_name for _ in range(1)]"], ["name = inspect.stack()[0].function"],
    ["name = inspect.currentframe().f_code.co_name"], ["name = [inspect.stack()[0].function for _ in range(1)][0]"],
    ["def inner():", "    return sys._getframe().f_code.co_name", "name = inner()"],
    ["def inner(v=sys._getframe().f_code.co_name):", "    return v", "name = inner()"],
    ["class Local:", "    value = sys._getframe().f_code.co_name", "name = Local.value"],
    ["name = next(sys._getframe().f_code.co_name for _ in range(1))"],
    ["name = (lambda: inspect.stack()[0].function)()"],
    ["def inner():", "    yield sys._getframe().f_code.co_name", "name = next(inner())"],
    ["name = sys._getframe(0).f_code.co_name"], ["name = inspect.stack()[1].function"],
    ["name = {sys._getframe().f_code.co_name for _ in '1'}"],
    ["class Local:", "    def __call__(self):", "        return sys._getframe().f_code.co_name", "name = Local()()"],
)  # fmt: skip
_POWERS = (
    "pow(x, 2)", "pow(x, {n})", "-pow(x, 2)", "pow(x, 2) ** 2", "pow(-x, 2)", "pow(2, x)", "pow(x, 2, None)",
    "pow(x, -1)", "pow(x, *[2])", "pow(*(x, 2))", "pow(x, (p := 2))", "pow(x, 2 if {flag} else 3)", "pow(x, 0.5)",
    "2 ** pow(x, 2)", "pow(x, 2)[...]", "pow(base=x, exp=2)", "pow(x, exp=2)", "pow(x + 1, 2)", "pow(x, {o})",
    "pow(x, *{ITEMS}[:1])", "pow(x, lambda: 2)", "pow(x, -{n})", "pow(x if {flag} else 2, 2)", "pow(x, 2 and 3)",
    "pow({n}, x)", "pow(x, **{})", "pow(x, not 0)", "pow(x, 1 + 1)", "pow(x, {e})", "pow({e}, 3)", "pow(x, 2 ** 2)",
    "(pow(x, 2))", "pow(  x , 2,)", "pow(x.sum(), 2).item()", "pow(x, [2][0])", "pow(x, 1j)",
)  # fmt: skip
_CALLABLE = (
    "callable(x.relu)", "callable(x.shape)", "callable(x.T)", "callable(x.grad_fn)", "callable(x.data)",
    "callable(x.sum if {flag} else 3)", "callable({layer})", "callable(x.dtype)", "callable(x.device)",
    "callable(x.__len__)", "callable(x.real)", "callable(x.grad)", "callable(x.mean())", "callable({e})",
    "callable(x.tolist)", "callable(x.requires_grad)", "callable(x.ndim)", "callable(x.H)", "callable(x.name)",
    "callable(x.volatile)", "callable(x._version)", "callable(x.is_leaf)", "callable(x.sum().item)",
)  # fmt: skip
_COPIES = (
    ["d = copy.copy({DICT})", "d['z'] = 1", "y = x * d['a']"],
    ["d = copy.copy({TABLE})", "d['z'].append(1)", "y = (x, d)"],
    ["d = copy.copy(collections.OrderedDict(a=1))", "y = (x, d)"],
    ["d = copy.copy(dict(a=x))", "d['a'] = 2", "y = (x, d)"],
    ["d = copy.copy(collections.Counter('aab'))", "y = (x, d)"], ["d = copy.deepcopy({DICT})", "y = (x, d)"],
    ["d = copy.copy({'a': x})", "d['a'].add_(1)", "y = d"], ["d = copy.copy({ITEMS})", "d.append(1)", "y = (x, d)"],
    ["class Own(dict):", "    def copy(self):", "        return 3", "d = copy.copy(Own(a=1))", "y = (x, d)"],
    ["class Own(dict):", "    pass", "d = copy.copy(Own(a=1))", "y = (x, type(d).__name__)"],
    ["d = copy.copy(types.MappingProxyType({'a': 1}))", "y = (x, type(d).__name__)"],
    ["d = copy.copy(collections.ChainMap({'a': 1}))", "d['b'] = 2", "y = (x, d.maps)"],
    ["y = copy.copy(x)", "y.add_(1)"], ["d = copy.copy(vars({LOUD}))", "d['shown'] = 5", "y = (x, d)"],
    ["y = copy.deepcopy(x)", "y = y + 1"],
    ["class Own(dict):", "    def __copy__(self):", "        return {}", "d = copy.copy(Own(a=1))", "y = (x, {**d})"],
    ["d = copy.copy({DICT} if {flag} else {ITEMS})", "y = (x, d)"], ["d = copy.copy(x.__dict__)", "y = (x, d)"],
)  # fmt: skip


def look_up(draft: Draft) -> tuple[list[str], str]:
    """Reads globals by their names."""
    draft.features.add("globals()")
    draft.use("SCALE")
    draft.use("pure")
    lines = draft.pick(_GLOBALS)
    text = " ".join(lines)
    for key, value in (("class", "3.0"), ("__hidden", "2.0"), ("ﬁ", "4.0"), ("True", "5.0"), ("__debug__", "6.0")):
        if f"'{key}'" in text:
            draft.globals[f"set {key}"] = f"globals()['{key}'] = {value}"
    for line in lines:
        draft.need_for(line)
    return list(lines), "y"


def frame(draft: Draft) -> tuple[list[str], str]:
    """Reads the name of the function that runs."""
    draft.features.add("frames")
    lines = draft.pick(_FRAMES)
    for line in lines:
        draft.need_for(line)
    return [*lines, "y = (x, name)"], "y"


def power(draft: Draft) -> tuple[list[str], str]:
    """The builtin pow."""
    draft.features.add("pow")
    lines = [f"y = {draft.fill(draft.pick(_POWERS))}"]
    if draft.chance(0.15):
        lines.insert(
            0,
            draft.pick(
                (
                    "pow = torch.pow",
                    "pow = lambda a, b=1: a * b",
                    "from math import pow",
                    "from operator import add as pow",
                )
            ),
        )
    return lines, "y"


def draw_callable(draft: Draft) -> tuple[list[str], str]:
    """callable of an attribute."""
    draft.features.add("callable")
    condition = draft.fill(draft.pick(_CALLABLE))
    lines = draft.pick(
        (
            [f"y = (x, {condition})"],
            [f"if {condition}:", "    x = x * 2", "y = x"],
            [f"y = x * 2 if {condition} else x"],
        )
    )
    if draft.chance(0.1):
        lines = ["callable = lambda value: 7", *lines]
    return list(lines), "y"


def copied(draft: Draft) -> tuple[list[str], str]:
    """Copies of dicts, lists and tensors."""
    draft.features.add("copies")
    draft.need("import copy")
    return [draft.fill(line) for line in draft.pick(_COPIES)], "y"
