"""Choices that a proof from the source may accept: one tensor, operators and numbers, and a condition of one bool.

All pairs of operators come up, on tensors of which the source shows something or nothing, so that each fact that a
proof rests on is tried with every dtype, shape and value; some programs hold what a proof must not take for granted.
"""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Operators by the shape of their results: a proof may put two of one row into the arms.
_ELEMENTWISE = _words("""
    abs neg ceil fix floor relu round trunc celu elu frac hardsigmoid hardswish leaky_relu selu logsigmoid softplus gelu
    mish silu sign clone nan_to_num sgn deg2rad rad2deg erf erfc lgamma logit atan sigmoid tanh acos asin cos cosh exp
    exp2 expm1 log log10 log1p log2 reciprocal rsqrt sin sinh sqrt tan tanhshrink softsign square float double half int
    long contiguous
    positive detach zeros_like ones_like negative relu6 isnan isfinite logical_not conj conj_physical real angle signbit
    bitwise_not digamma erfinv special_expit i0 sinc fliplr flipud t adjoint bool bfloat16 cfloat relu_ isreal isinf
""")
_REDUCING = _words(
    "sum mean nansum amax amin max min argmax argmin any all count_nonzero prod std var norm nanmean median"
)
_WITH_DIM = _words("sum mean amax amin any all nansum nanmean logsumexp prod argmax count_nonzero std")
_ACTIVATIONS = _words("relu gelu silu elu softplus leaky_relu hardtanh relu6 logsigmoid hardswish")
_DIMS = (
    "0",
    "-1",
    "dim=0",
    "dim=-1",
    "axis=0",
    "0, True",
    "dim=-1, keepdim=True",
    "(0,)",
    "dim=()",
    "1",
    "dim=None",
    "[0]",
)
_FUNCTIONS = _words("abs relu sigmoid tanh neg sign square exp log sqrt floor round nan_to_num clone")
_NUMBERS = (
    "2", "3", "1", "0", "0.5", "-1", "0.1", "1e-3", "2.0", "127", "128", "-128", "-129", "255", "256", "300", "1e5",
    "1e38", "1e39", "1e300", "1e-40", "1e-46", "1e-320", "-2.5", "65504", "70000", "16777217", "9223372036854775807",
    "9223372036854775808", "100000000000000000000", "2147483648", "True", "1_000", "0x10", "-0.0", "1e308", "3.4e38",
    "-1e39", "1j",
)  # fmt: skip
#: Arms that are alike for floats, with a gradient that is never NaN, and values that the source shows to be floats.
_TAME = (
    "-{v}", "{v} * {k}", "{v} + {k}", "{v} - {k}", "{v}.relu()", "{v}.abs()", "{v}.clamp(0, 1)", "{v}.round()",
    "{v}.floor()", "{v} / 2", "{v}.nan_to_num()", "{v}.sign()", "{v}.clone()", "F.elu({v})", "F.leaky_relu({v})",
    "torch.relu({v})", "{k} * {v}", "{k} + {v}", "{v}.clamp(min={k})", "({v} * {k}).abs()", "({v} + {k}).relu()",
    "-({v} * {k})", "{v} + {v}", "{v} * 2 + {k}", "{k} - {v}", "{v}.neg() * {k}", "{v}.sigmoid() * 1", "{v}.tanh()",
    "torch.sigmoid({v})", "{v}", "torch.abs({v})", "{v}.ceil()", "{v}.frac()", "F.hardtanh({v})",
)  # fmt: skip
_TAME_REDUCED = (
    "{v}.mean()",
    "{v}.sum()",
    "{v}.max()",
    "{v}.min()",
    "{v}.sum() * {k}",
    "-{v}.mean()",
    "{v}.mean() + {k}",
    "{v}.max() * {k}",
)
_SURE = (
    "self.fc(x)", "self.fc(x)", "self.fc(x)", "self.fc(x)", "self.fc(x).relu()", "self.fc(x) * 0.5",
    "torch.rand(2, 3) + x", "torch.rand(3)", "torch.rand(2, 3)", "torch.randn(2, 3) * x", "torch.randn(2, 3)",
    "x.float()", "x * 1.0", "x.float().relu()", "x / 2", "{layer}(x)", "torch.relu(self.fc(x))", "self.fc(x).abs()",
    "torch.randn(3) + x", "x.sigmoid()", "x.mean(-1)", "self.fc(x).mean(-1)", "torch.rand(3).double()",
)  # fmt: skip
_USUAL = ("2", "3", "1", "0.5", "-1", "2.0", "0.1", "0", "1.5", "10")
_SYMBOLS = ("*", "*", "+", "-", "/", "**", "//", "%")

#: Values of the tensor that the arms are made of; of some the source shows the dtype.
_VALUES = (
    "x", "x", "x", "x.float()", "{layer}(x)", "self.fc(x)", "x * 1.0", "x.clone()", "x.abs()", "torch.relu(x)",
    "x.sum()", "x.mean(-1)", "x.detach()", "{o}", "{e}", "x > 0", "x.double()", "x.long()", "x + 1", "x[0]", "x.t()",
    "torch.rand(3)", "torch.rand(2, 3) + x", "x * {n}", "x + {o}", "x + {e}", "x.real", "x.to({o}.dtype)",
    "{o} if {flag} else x", "{held}", "x.sigmoid()", "x.half()", "x.type_as({o})", "torch.cat([x, x])",
    "torch.rand_like(x)", "torch.where(x > 0, x, x)", "x.view(-1)", "x.max(-1).values", "self.drop(x)",
    "torch.stack([x, x])", "x.softmax(-1)", "torch.tensor(x.tolist())", "torch.as_tensor(x)", "x.nan_to_num()",
    "{held} * x", "x @ x.T",
)  # fmt: skip
_LAYERS = (
    "nn.Linear(3, 3)", "nn.Linear(3, 3, dtype=torch.complex64)", "nn.Linear(3, 3).double()",
    "nn.RMSNorm(3, elementwise_affine=False)", "nn.LayerNorm(3, elementwise_affine=False)", "nn.LayerNorm(3)",
    "nn.BatchNorm1d(3, affine=False, track_running_stats=False)", "nn.InstanceNorm1d(3)",
    "nn.GroupNorm(1, 3, affine=False)", "nn.Linear(3, 3).to(torch.complex64)", "nn.Identity()", "nn.RMSNorm(3)",
    "nn.Sequential(nn.Linear(3, 3), nn.ReLU())", "nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))",
    "nn.Linear(3, 3, bias=False)", "nn.Flatten(0)", "nn.Sequential()", "nn.Linear(3, 3).half().float()",
    "nn.Linear(3, 3).requires_grad_(False)", "nn.LeakyReLU(0.1, True)",
)  # fmt: skip
_TESTS = (
    "{v}.sum() > {k}", "{v}.mean() > {k}", "{v}.max() > {k}", "({v} > {k}).any()", "({v} > {k}).all()",
    "torch.isnan({v}).any()", "{v}.any()", "{v}.sum().item() > {k}", "float({v}.sum()) > {k}", "{v}.amax() == {k}",
    "not {v}.any()", "{v}.sum() > {n}", "{v}.abs().max() < {k}", "{v}.sum() > {k} and {v}.mean() < {k}",
    "{v}.sum() > {k} or {v}.max() > {k}", "0 < {v}.sum() < {k}", "{v}.min() < {k} < {v}.max()", "{v}.isfinite().all()",
    "math.isnan({v}.sum())", "bool({v}.any())", "{v}.sum() > {number}", "{v}.any() and {v}.sum() > {number}",
    "{v}.sum() != 0 and {v}.min() > {k}", "{v}.argmax() > {k}", "{v}.count_nonzero() > 1", "{v}.norm() > {k}",
    "torch.any({v} > {k})", "{v}.sum() > {k} and ({v} > {k}).any() and {v}.amax() < 9", "{v}.sum().bool()",
    "{v}.numel() > 2 and {v}.sum() > {k}", "{v}.sum() > {e}", "{flag} and {v}.sum() > {k}", "{v}.prod() == {k}",
    "{v}.sum() > 0.1", "{v}.sum().item() > 0.1", "{v}.max().item() == 16777217", "{o}.sum() > {k}",
    "{v}.sum() > {o}.sum()", "{v}.mean() > {v}.sum()", "{v}.sum() == {v}.sum()", "x.sum() > {k}", "x.any()",
    "{v}.any() or {v}.sum() > 1e39", "{v}.any() and {v}.sum() > 100000000000000000000",
    "x.sum() > {k} and {v}.sum() > {k}", "{v}.max() >= 0 or {v}.mean() > 0", "{v}.var() > {k}",
)  # fmt: skip
#: Lines that seem to show what the tensor is, and do not.
_SEEMING = (
    "ok = {n} < 0 < x.mean()", "ok = 1 < 0 < x.mean()", "assert x is not None, x.mean()", "m: x.mean() = 0",
    "m = {flag} and x.mean()", "m = x.mean() if {flag} else 0", "m = lambda: x.mean()", "m = [x.mean() for _ in ()]",
    "m = (x.mean() for _ in '1')", "m = x.mean()", "s = x.sum()", "c = x.sum() > 0", "keep = x", "x = x", "m = x * 0.5",
    "m = x.sigmoid()", "m = -x", "m = x.relu()", "m = x.max()",
    "def inner():\n    nonlocal x\n    x = x.long()\ninner()", "for x in [x.long()]:\n    pass",
    "for _ in ():\n    m = x.mean()", "try:\n    m = x.mean()\nexcept RuntimeError:\n    pass",
    "while {n} == 77:\n    m = x.mean()", "if {flag}:\n    m = x.mean()",
    "with contextlib.suppress(RuntimeError):\n    m = x.mean()", "x, m = x.long(), x", "(x := x.long())",
    "m = [x := x.long()]", "x += 1", "m = {same}(x)", "del_me = x; del del_me", "exec('m = x.mean()')",
    "x.requires_grad_(x.is_floating_point())", "m = x.mean() or 1", "m = not x.mean()", "m = f'{x.mean()}'",
    "m = (lambda x: x.long())(x)", "import math as m", "m = x.real.mean()", "x = x if {flag} else x.long()",
    "m = {'a': x.mean()}", "m = x.mean() and x.sum()", "m = x.sum() and x.mean()", "m = True or x.mean()",
    "m = x.ndim and x.float().mean()",
)  # fmt: skip
_AFTER = (
    "same = y is keep", "y = y + 1", "y = y * x", "keep = y", "y = {condition}(y)", "k = y.shape", "k = y in (x,)",
    "k = y.requires_grad", "y = torch.relu(y)", "y = y.sum()", "k = (y == x).any()", "y = {LOUD} + y", "y = y.abs()",
    "y = self.fc(y)", "y = self.drop(y)", "k = [y]", "y = -y", "y = y.contiguous()", "y = y.float()", "y = y[...]",
    "k = y.is_leaf", "y = y.view(-1)", "y = y.detach()", "y = y.clamp(0, 1)", "y = F.relu(y, True)",
    "y = torch.add(y, 1, out=y)", "y = y.t()", "k = id(y) == id(x)", "y = y.nan_to_num()", "y = y.clone()", "k = y",
    "y = y.to(y.dtype)", "y = y @ y.T", "k = y._version", "y = torch.cat([y])", "y = torch.cat([y, y])",
    "y = y.expand_as(x)", "y = y.positive()", "k = lambda: y", "y = y.reshape(y.shape)", "y = y.round()",
    "y = max(y, y)", "y = y.squeeze()", "y = y if {flag} else x", "k = y.sum().item()", "y = y.conj()", "y = y.real",
    "y = torch.dropout(y, 0.5, False)", "y = y.sum(())", "y = y.sum(dim=0) if y.ndim else y", "y = y.softmax(-1)",
)  # fmt: skip
_RETURNS = (
    "return y",
    "return y + 1",
    "return y * 2, x",
    "return y, x",
    "return y.sum()",
    "return y is x",
    "return (y, y)",
    "return y - x",
    "return torch.relu(y)",
)


def aimed(draft: Draft) -> tuple[list[str], str]:
    """A choice that a proof may accept, and what stands around it; it returns by itself."""
    draft.features.add("aimed at proofs")
    if draft.is_net:
        draft.hold(draft.pick(_LAYERS) if draft.chance(0.5) else "nn.Linear(3, 3)", "fc")
        draft.hold(
            draft.pick(("nn.Dropout(0.5)", "nn.Dropout(0.0)", "nn.Identity()", "nn.ReLU()", "nn.ReLU(True)")), "drop"
        )
    lines = _seeming(draft) if draft.chance(0.35) else []
    value = draft.pick(_VALUES if draft.odd(0.4) else _SURE)
    base = draft.pick(("x", "h"))
    if value == "x" or ("self." in value and not draft.is_net):
        base = "x"
    elif value in ("{o}", "{e}") and draft.chance(0.5):
        base = draft.fill(value)
    else:
        lines.append(f"{base} = {draft.fill(value)}")
    if draft.chance(0.15):
        lines += _seeming(draft)
    made, name = _choice(draft, base)
    lines += made
    if name and draft.chance(0.35):
        line = draft.fill(draft.pick(_AFTER)).replace("y", name) if name != "y" else draft.fill(draft.pick(_AFTER))
        lines.append(line if draft.is_net or "self." not in line else f"{name} = {name} + 1")
    if name:
        lines.append(
            draft.pick(_RETURNS)
            .replace("return y", f"return {name}")
            .replace("(y)", f"({name})")
            .replace("(y, y)", f"({name}, 1)")
        )
    return lines, ""


def _seeming(draft: Draft) -> list[str]:
    return draft.fill(draft.pick(_SEEMING)).split("\n")


def _choice(draft: Draft, base: str) -> tuple[list[str], str]:
    shape = draft.rng.choices(("elementwise", "reduced", "dim"), (7, 2, 1))[0]
    dim = draft.pick(_DIMS)
    if shape == "dim" and not draft.odd(0.3):
        shape = "elementwise"
    first, second, third = (_arm(draft, base, shape, dim) for _ in range(3))
    test, other = _test(draft, base), _test(draft, base)
    form = draft.rng.randrange(9)
    if form == 0:
        return [f"if {test}:", f"    {base} = {first}"], base
    if form == 1:
        return [f"return {first} if {test} else {second}"], ""
    if form == 2:
        return [f"if {test}:", f"    return {first}", f"return {second}"], ""
    if form == 3:
        return [
            f"if {test}:",
            f"    y = {first}",
            f"elif {other}:",
            f"    y = {second}",
            "else:",
            f"    y = {third}",
        ], "y"
    if form == 4:
        lines = [
            f"if {test}:",
            f"    y = {first}",
            f"    z = {second}",
            "else:",
            f"    y = {third}",
            f"    z = {base} * 2",
        ]
        return [*lines, f"y = {draft.pick(('y + z', '(y, z)', 'y', 'z'))}"], "y"
    if form == 5:
        return [f"y = {draft.pick((base, 'x'))} {draft.pick(('+', '*', '-'))} ({first} if {test} else {second})"], "y"
    if form == 6:
        return [
            f"y = {first}",
            f"if {test}:",
            f"    y = {draft.pick((second, 'y * 2', 'y + 1', '-y', 'y.abs()'))}",
        ], "y"
    if form == 7:
        return [f"c = {test}", "if c:", f"    y = {first}", "else:", f"    y = {second}"], "y"
    return [f"if {test}:", f"    y = {first}", "else:", f"    y = {second}"], "y"


def _test(draft: Draft, base: str) -> str:
    number = draft.pick(_NUMBERS) if draft.odd(0.1) else draft.pick(_USUAL)
    return draft.fill(draft.pick(_TESTS) if draft.odd(0.3) else draft.pick(_TESTS[:16]), v=base, k=number)


def _arm(draft: Draft, base: str, shape: str, dim: str, depth: int = 0) -> str:
    """An expression of ``base``: one or two operators, or arithmetic with a number."""
    inner = base if depth or draft.chance(0.75) else f"({_arm(draft, base, 'elementwise', dim, 1)})"
    tame = {"elementwise": _TAME, "reduced": _TAME_REDUCED}.get(shape)
    if tame is not None and not draft.odd(0.3):
        return draft.fill(draft.pick(tame), v=base, k=draft.pick(_NUMBERS) if draft.odd(0.1) else draft.pick(_USUAL))
    if shape == "reduced":
        return f"{inner}.{draft.pick(_REDUCING)}()"
    if shape == "dim":
        same = draft.pick(_WITH_DIM)
        return f"{inner}.{same}({dim if draft.chance(0.9) else draft.pick(_DIMS)})"
    drawn = draft.rng.randrange(12)
    number = draft.pick(_NUMBERS) if draft.odd(0.25) else draft.pick(_USUAL)
    if drawn < 4:
        return (
            f"{inner} {draft.pick(_SYMBOLS)} {number}"
            if draft.chance(0.8)
            else f"{number} {draft.pick(_SYMBOLS)} {inner}"
        )
    if drawn < 6:
        return f"torch.{draft.pick(_FUNCTIONS)}({inner})"
    if drawn == 6:
        bound = draft.pick(
            ("0, 1", f"{number}", f"min={number}", f"max={number}", f"-1, {number}", f"min=0, max={number}")
        )
        return f"{inner}.clamp({bound})"
    if drawn == 7:
        return f"-{inner}"
    if drawn == 8:
        other = draft.pick((base, f"{base}.abs()", f"{base}.sum()", f"{base}.detach()"))
        return f"{inner} {draft.pick(('+', '*', '-'))} {other}"
    if drawn == 9:
        return f"F.{draft.pick(_ACTIVATIONS)}({inner})"
    name = draft.pick(_ELEMENTWISE)
    return f"torch.{name}({inner})" if name in ("zeros_like", "ones_like") else f"{inner}.{name}()"
