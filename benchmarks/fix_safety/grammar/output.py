"""Output in compiled code: print, loggers, warnings and streams, with arguments that do more than compute a value."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.conditions import condition
from benchmarks.fix_safety.grammar.draft import Draft

_PLAIN = (
    "x.shape", '"step"', "x.sum()", "x.sum().item()", 'f"{x.float().mean():.3f}"', "len(x)", "{n}", "x.dtype",
    "{number}", "x.mean(-1)", "x.tolist()", "float(x.sum())", "{anything}", "x.numel(), x.ndim", "x", "str(x.shape)",
    '"%s" % x.sum()', "x.min(), x.max()", "torch.isnan(x).any()", "round(2.5)", "type(x)", "x.device", "repr(x.shape)",
    "x.requires_grad", 'f"{x.shape[0]} of {len(x)}"', '"{} {}".format(1, 2)', "x.detach().numpy()",
    "x.abs().max().item()",
)  # fmt: skip
_EFFECTS = (
    "x.register_hook({COUNTS}.append)", "{BOX}.sum()", "{BOX}.shape", "{LOUD} < 3", "sorted([{LOUD}, {LOUD}])",
    "max({LOUD}, 1)", "next({IT})", "{helper}(x)", "{COUNTS}.append(1)", "{ITEMS}.pop()", "{QUEUE}.get()", "x.add_(1)",
    "{LOUD}.add(2)", "torch.rand(1)", "random.random()", "{score}(x)", "{layer}(x)", "{DICT}.setdefault('c', 3)",
    "[{COUNTS}.append(i) for i in range(2)]", "list({IT})", "sum({GENERATOR})", "str({LOUD})", "{LOUD}", 'f"{{LOUD}}"',
    "{LOUD}.value", "{TABLE}['k']", "{total}", "np.random.rand()", "max({GENERATOR})", "sorted({IT})", "tuple({IT})",
    '"%s" % {LOUD}', "dict(zip({IT}, 'ab'))", "min({IT}, 3)", "{DICT}.pop('a')", "{DICT}.popitem()", "x.uniform_()",
    "{remember}(x)", "set({GENERATOR})", "any({GENERATOR})", "all({IT})", "{LOUD}.format(1)", "'{}'.format({LOUD})",
    "bool({LOUD})", "x.mul_(2).sum()", "len(list({IT}))", "torch.manual_seed(1)", "{BUF}.write('a')",
    "{COUNTS}.extend([1])", "{COUNTS} + [1]", "{TABLE}['k'].append(1)", "3 in {IT}", "{ITEMS}.sort()", "*{IT}",
    "*{GENERATOR}", "(lambda: {COUNTS}.append(2))()", "{b} is x", "not {LOUD}", "{LOUD} and 1", "enumerate({IT})",
    "map({COUNTS}.append, [1])", "list(map({COUNTS}.append, [1, 2]))", "getattr({LOUD}, 'value')", "1 in {GENERATOR}",
    "zip({IT}, [1])", "list(zip({IT}, [1]))", "(found := x.sum())", "os.environ.setdefault('GD_FIX', '1')", "x.zero_()",
    "x.copy_(x * 2)", "x.resolve_conj().add_(1)", "setattr({LOUD}, 'shown', 9)", "vars({LOUD}).update(shown=7)",
    "x.requires_grad_()", "x.grad", "x.retain_grad()", "torch.set_grad_enabled(True)", "exec('COUNT = 5', globals())",
    "{COUNTS}.__iadd__([4])", "{ITEMS}.__setitem__(0, 9)", "reversed({ITEMS})", "isinstance({LOUD}, type)", "range(3)",
    "torch.randn(2).sum()", "torch.nn.functional.dropout(x.float()).sum()", "x.float().bernoulli(0.5)",
    "torch.randperm(3)", "{LOUD}.value if {flag} else 0", "[v for v in {IT}]", "(v for v in {IT})", "{**{TABLE}}",
    "sum(v for v in {IT})",
)  # fmt: skip
#: Text that must stay what it is wherever the call goes, and in whatever column.
_TEXTS = (
    '"""one\n  two\n"""', "'größe €', x.shape", "'\\n\\t'", 'f"""{x.shape}\n    of x"""', "'a' 'b'",
    "'one' \\\n        'two'", "'🙂', x.ndim  ", "(x.shape,\n        x.dtype)", "b'\\xff'", 'r"\\d"',
    "x.shape,  # a comment\n        1", "'\x0c'",
)  # fmt: skip
_OPTIONS = (
    "end=''",
    "sep='-'",
    "file=sys.stderr",
    "file={BUF}",
    "flush=True",
    "**{'end': '!'}",
    "end={LOUD}.format(1)",
    "file=None",
)


def _value(draft: Draft) -> str:
    if draft.chance(0.2):
        draft.features.add("side effect in output")
        template = draft.pick(_EFFECTS)
    elif draft.chance(0.12):
        draft.features.add("odd text")
        template = draft.pick(_TEXTS)
    else:
        template = draft.pick(_PLAIN)
    # Braces of f-strings and dicts stay: they hold no plain word, or one in a second pair of braces.
    return draft.fill(template, b="x")


def call(draft: Draft) -> str:
    """One call that writes something."""
    values = [_value(draft) for _ in range(draft.pick((1, 1, 2)))]
    drawn = draft.rng.random()
    if drawn < 0.5:
        options = [draft.fill(draft.pick(_OPTIONS))] if draft.chance(0.2) else []
        return f"print({', '.join((*values, *options))})"
    if drawn < 0.75:
        log = draft.use("LOG")
        way = draft.pick(("info", "debug", "warning", "error"))
        if draft.chance(0.3):
            return f"{log}.{way}(str(({values[0]},)))"
        return (
            f'{log}.{way}("value %s", {values[0]})'
            if not values[0].startswith("*")
            else f'{log}.{way}("%s %s", 1, {values[0]})'
        )
    if drawn < 0.87:
        draft.need("import warnings")
        text = draft.pick(('"slow"', f"str(({values[0]},))", 'f"at {x.shape}"'))
        more = draft.pick(("", ", stacklevel=2", ", UserWarning", ", FutureWarning, 2"))
        return f"warnings.warn({text}{more})"
    if drawn < 0.95:
        draft.need("import sys")
        return f"sys.{draft.pick(('stdout', 'stderr'))}.write(str(({values[0]},)))"
    return draft.fill(draft.pick((
        "pprint.pprint({v})", "logging.info('%s', {v})", "sys.stdout.flush()",
        "logging.getLogger('a').info(str(({v},)))", "warnings.simplefilter('ignore')", "logging.disable(20)",
        "{LOG}.setLevel(40)", "warnings.filterwarnings('ignore')", "warnings.resetwarnings()", "logging.basicConfig()",
        "{LOG}.addHandler(logging.StreamHandler({BUF}))", "logging.captureWarnings(True)", "{LOG}.log(20, 'x')",
        "{LOG}.isEnabledFor(10)",
    )), v=values[0] if not values[0].startswith("*") else "x.shape")  # fmt: skip


def output(draft: Draft) -> list[str]:
    """A statement that writes something, somewhere."""
    draft.features.add("output")
    one = call(draft)
    if draft.chance(0.6):
        return [one]
    loops = ("for step in range(2):", "with torch.no_grad():", "if True:", "if {flag}:", "if x.ndim > 0:", "if {n}:")
    shape = draft.rng.randrange(25)
    if "\n" in one and shape >= 3:
        return [one]
    if shape < 3:
        return [draft.fill(draft.pick(loops)), f"    {one}"]
    table: dict[int, list[str]] = {
        3: [f"if {condition(draft, 'x')}:", f"    {one}"],
        4: [f"shown = {one}"],
        5: [f"{one} if x.ndim else None"],
        6: [draft.fill("{flag} and " + one)],
        7: ["try:", f"    {one}", "finally:", "    pass"],
        8: [f"{one}; x = x * 1"],
        9: ["def show():", f"    {one}", "show()"],
        10: [f"[{one} for _ in range(2)]"],
        12: [f"if x.ndim > 1: {one}", f"else: {one}"],
        13: [draft.fill("if {flag}:"), "    pass", "else:", f"    {one}  # only here"],
        14: [f"show = lambda: {one}", "show()"],
        15: [draft.fill("with contextlib.redirect_stdout({BUF}):"), f"    {one}"],
        16: ["match x.ndim:", "    case 0:", f"        {one}", "    case _:", f"        {one}"],
        17: ["while True:", f"    {one}", "    break"],
        18: ["try:", f"    {one}", "except ValueError:", f"    {one}"],
        19: [f"assert x is not None; {one}"],
        **_under_a_test(draft, one),
        11: ["for step in range(2):", f"    {one}", "    break", "else:", "    x = x * 2"],
    }
    return table[shape]


def _under_a_test(draft: Draft, one: str) -> dict[int, list[str]]:
    """Branches on tensor data that write something, and nothing, little or much else."""
    test, other = condition(draft, "x"), call(draft)
    if draft.chance(0.15):
        test = f"{test} {draft.pick(('and', 'or'))} {draft.fill(draft.pick(_EFFECTS), b='x')}"
    side = [f"    {line}" for line in other.split("\n")] if "\n" not in other else ["    pass"]
    return {
        20: [f"if {test}:", f"    {one}", "else:", *side],
        21: [f"if {test}:", draft.fill("    seen = {n}"), *side, f"    {one}"],
        22: [f"if {test}:", f"    {one}", f"    x = {draft.pick(('x * 2', 'x.abs()', 'x.clone()', 'x.float()'))}"],
        23: [f"if {test}:", draft.fill("    if {flag}:"), f"        {one}", *side],
        24: [f"if {test}: {one}"],
    }


def shadowed(draft: Draft) -> list[str]:
    """A name of the standard library that means something else here."""
    draft.features.add("shadowed output")
    draft.use("COUNTS")
    return draft.pick((
        ["print = COUNTS.append", "print(1)"],
        ["def print(value):", "    COUNTS.append(value)", "    return 3", "print(x.shape[0] if x.ndim else 0)"],
        ["print = lambda *values: x.add_(1)", "print(1)"], ["from pprint import pprint as print", "print(x.shape)"],
        ["from operator import length_hint as print", "print(COUNTS, 3)"],
        ["class Own:", "    info = COUNTS.append", "logger = Own()", "logger.info('a')"],
        ["import types", "warnings = types.SimpleNamespace(warn=COUNTS.append)", "warnings.warn('a')"],
        ["class sys:", "    class stdout:", "        write = COUNTS.append", "sys.stdout.write('a')"],
        ["import types", "logging = types.SimpleNamespace(info=COUNTS.append)", "logging.info('a')"],
        ["logger = COUNTS", "logger.append('a')"],
    ))  # fmt: skip
