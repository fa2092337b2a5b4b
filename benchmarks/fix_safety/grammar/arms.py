"""The values between which a program chooses: pairs that ``torch.where`` could take, and pairs that it must not."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

#: Elementwise, without hazards for the gradient, of the same dtype for float inputs.
_PLAIN = (
    "{b} * 2", "{b} + 1", "-{b}", "{b}.relu()", "{b}.abs()", "torch.sin({b})", "{b} - {k}", "{b}.clamp(0, 1)",
    "{b}.neg()", "{b} * {k}", "torch.relu({b})", "{b}.clone()", "{b}.tanh()", "{b}.sigmoid()", "F.gelu({b})",
    "{b}.clamp(min={k})", "2 * {b}", "{b} * 0.5", "{b} + {b}", "{b}.round()", "{b}.sign()", "{b}.nan_to_num()",
    "torch.nan_to_num({b})", "{b}", "{b}.cos()", "{b}.erf()", "{b}.atan()", "torch.zeros_like({b})", "{b} / 2",
    "{b}.mul(2)", "torch.abs({b})", "1 - {b}",
)  # fmt: skip
#: Elementwise too, but with gradients that may be NaN, dtypes that may differ, or a result that is no copy.
_SHARP = (
    "{b} * {b}", "{b} ** 2", "{b}.square()", "{b}.sqrt()", "{b}.log()", "{b} / {b}.sum()", "{b} % 3", "{b} // 2",
    "~{b}", "{b} & 1", "{b}.exp()", "{b}.softmax(-1)", "F.log_softmax({b}, -1)", "F.silu({b})", "F.softplus({b})",
    "{b} / {b}", "{b}.masked_fill({b} > 1, 0.0)", "{b}.reciprocal()", "{b}.pow(0.5)", "{b} ** 0.5", "{b} ** {n}",
    "{b}.rsqrt()", "{b}.cumsum(-1)", "{b}.detach()", "{b}.float()", "{b}.half()", "{b}.long()", "{b}.to(torch.float64)",
    "{b}.bool()", "{b}.pow(3)", "{b}.logit()", "{b}.log1p()", "{b}.asin()", "{b}.tan()", "{b}.fmod(2)", "{b}.floor()",
    "{b}.ceil()", "{b}.logcumsumexp(-1)", "{b} * {b}.sigmoid()", "F.elu({b})", "F.mish({b})",
    "F.normalize({b}, dim=-1)", "{b}.sinc()", "{b}.clamp(min={number})", "{b} * {number}", "{b} * {n}", "{b} + {held}",
    "{b} * {o}", "{b}.exp2()", "{b}.expm1()", "{b}.hardshrink()", "F.leaky_relu({b})", "{b}.lgamma()", "{b}.digamma()",
    "{b}.trunc()", "{b}.frac()", "{b}.cumprod(-1)", "{b}.nan_to_num(0.0)", "{b} * float('inf')", "{b} - float('inf')",
    "{b} * 1e38", "{b} * 1e300", "{b} * 300", "{b} + 2**40", "{b} * True", "{b} * 2j", "{b} + 0.5", "{b} - True",
    "{b}.sub(1, alpha=2)", "{b}.add(1, alpha=0.5)", "{b}.mul(2.5)", "F.relu6({b})", "F.hardtanh({b})",
    "F.threshold({b}, 0.1, 20.0)", "F.softsign({b})", "F.selu({b})", "{b}.sinh()", "{b}.cosh()", "{b} * {b} * {b}",
    "{b} * ({b} + 1)", "({b} - 1) * {b}", "{b}.sub({b})", "{b}.mul({b})", "{b} @ {b}.T", "torch.square({b})",
    "torch.log({b})", "torch.sqrt({b}.abs())", "{b}.float() * 2", "{b}.type_as({b})", "{b}.to({b}.dtype)",
    "{b}.clamp({o})", "{b}.lerp({b}, 0.5)", "{b} * torch.finfo({b}.dtype).max", "torch.clip({b}, -1, 1)",
    "{b}.deg2rad()", "{b}.flip(0)", "{b}.roll(1)", "{b}.tril()", "{b}.positive()", "{b}.contiguous()",
    "{b}.clamp(max=2.5)", "{b}.clip(0.5)",
)  # fmt: skip
_REDUCED = (
    "{b}.mean()", "{b}.amax()", "{b}.sum()", "{b}.max()", "{b}.amin()", "{b}.nanmean()", "{b}.norm()", "{b}.prod()",
    "{b}.mean(-1)", "{b}.amax(-1)", "{b}.mean(dim=0)", "{b}.amin(dim=0)", "{b}.sum(-1)", "{b}.logsumexp(-1)",
    "{b}.std()", "{b}.var()", "{b}.mean(-1, keepdim=True)", "{b}.amax(-1, True)", "{b}.mean(0) * 2", "{b}.median()",
    "torch.mean({b})", "torch.amax({b}, -1)", "{b}.mean(dtype=torch.float64)", "{b}.abs().mean()", "{b}.abs().amax()",
    "{b}.mean(axis=0)",
)  # fmt: skip
_VIEWS = (
    "{b}", "{b}[0]", "{b}[:1]", "{b}.view(-1)", "{b}.t()", "{b}.T", "{b}.reshape(-1)", "{b}.detach()",
    "{b}.contiguous()", "{b}.real", "{b}.data", "{b}.unsqueeze(0)", "{b}[..., 0]", "{b}.transpose(0, -1)",
    "{b}.squeeze()", "{b}[...]", "{b}.mT", "{b}.view_as({b})", "{b}.expand_as({b})", "{b}.flatten()", "{b}.clamp()",
    "{b}.to({b}.dtype)", "{b}.float()", "+{b}", "{b}.positive()", "{b}.conj()", "{b}.diagonal()", "{b}[None]",
    "{b}.reshape({b}.shape)", "{held}", "{o}", "{b}.values", "torch.ravel({b})", "torch.squeeze({b})",
    "{b}.requires_grad_()", "{b}.type({b}.dtype)", "{b}.resolve_conj()", "{b}.imag",
)  # fmt: skip
_OTHER_SHAPE = (
    "{b}.new_zeros(3)", "torch.zeros(3)", "{b}[None]", "torch.zeros_like({b})", "torch.ones(1)", "torch.ones(2, 3)",
    "{b}.new_ones(())", "torch.full_like({b}, 2.5)", "torch.zeros(()) ", "torch.empty(0)", "{b}[:, :1]", "{b}.sum(0)",
    "torch.ones(1, dtype=torch.int64)", "{b}.new_tensor(3)", "torch.tensor({k})", "{b}.repeat(2)",
    "torch.cat([{b}, {b}])", "torch.arange(3)", "torch.zeros({b}.shape)", "torch.ones_like({b}, dtype=torch.float64)",
    "{b}.expand(2, 3)",
)  # fmt: skip
_PYTHON = (
    "1", "2.5", '"ok"', "None", "True", "[1, 2]", "{n}", "{number}", "{LIMIT}", "{n} + 1", "({b}, {b})", "{b}.shape[0]",
    "0", "{anything}", "float({k})", "-{n}", "{n} * 2", "{SCALE}", "{e}", "{ITEMS}", "{DICT}", "{b}.shape", "{b}.dtype",
    "-0.0", "float('inf')", "float('nan')", "10**20", "2**24 + 1", "{b}.numel()", "{total}", "{ITEMS}[0]",
    "{DICT}['a']", "math.pi",
)  # fmt: skip
_CALLED = (
    "{layer}({b})", "{layer}({b}) * 2", "{layer}({b})", "torch.rand_like({b})", "F.dropout({b})",
    "{b} * random.random()", "{b} + np.random.rand()", "torch.normal({b}, 1.0)", "{b}.add_(1)", "{b}.mul_(2)",
    "{b}.relu_()", "{helper}({b})", "next({IT}) * {b}", "{pure}({b})", "{remember}({b})", "{plainly}({b})",
    "{b} * {LOUD}.value", "{LOUD}.add(1) * {b}", "{b} * {TABLE}['k'].__len__()", "{b}.bernoulli()",
    "{b} + len({TABLE}['k'])", "{b} * {COUNTS}.__len__()", "{QUEUE}.get() * {b}", "F.relu({b}, inplace=True)",
    "torch.sigmoid_({b})", "torch.add({b}, 1, out={b})", "{b}.clamp_(0, 1)", "{b} * {total}", "F.gelu({layer}({b}))",
    "{b} * {held}", "{held} * 2", "{held} + {k}", "{b}.mul({held})", "torch.clamp({b}, out={b})",
    "F.hardtanh({b}, inplace=True)", "F.dropout({b}, 0.5, False)", "F.rrelu({b}, training=True)",
    "F.gumbel_softmax({b})", "{b}.copy_({b} * 2)", "torch.empty_like({b}).zero_()", "F.leaky_relu({b}, 0.1, True)",
    "F.threshold({b}, 0.1, 20.0, True)", "{b}.index_add(0, torch.tensor([0]), {b}[:1])", "{b}.__iadd__(1)",
    "operator.iadd({b}, 1)", "{b}.apply_(lambda v: v + 1)", "(lambda v: v * 2)({b})", "torch.relu_({b})",
)  # fmt: skip
_ANY_TYPE = (
    "{b} * 2",
    "{b} + {b}",
    "{b}",
    "{b} * 3",
    "-{b}",
    "{b} + 1",
    "{b} * {k}",
    "{b} / 2",
    "{b} // 2",
    "2 * {b}",
    "abs({b})",
)

_ODD = (
    (26, "sharp arm", _SHARP, _PLAIN), (8, "sharp arm", _SHARP, _SHARP), (12, "reduced arms", _REDUCED, _REDUCED),
    (4, "reduced arms", _REDUCED, _PYTHON), (12, "view arms", _VIEWS, _VIEWS), (8, "view arms", _PLAIN, _VIEWS),
    (6, "other shape", _OTHER_SHAPE, _PLAIN), (7, "Python arms", _PYTHON, _PYTHON), (5, "Python arms", _PLAIN, _PYTHON),
    (12, "called arm", _CALLED, _PLAIN),
)  # fmt: skip


def pair(draft: Draft, base: str, is_tensor: bool = True) -> tuple[str, str]:
    """Two arms over the name ``base``, in either order."""
    if not is_tensor and draft.chance(0.8):
        draft.features.add("arms of any type")
        return draft.fill(draft.pick(_ANY_TYPE), b=base), draft.fill(draft.pick(_ANY_TYPE), b=base)
    first, second = _PLAIN, _PLAIN
    if draft.odd(0.55):
        _, feature, first, second = draft.rng.choices(_ODD, [row[0] for row in _ODD])[0]
        draft.features.add(feature)
    arms = draft.fill(draft.pick(first), b=base), draft.fill(draft.pick(second), b=base)
    return arms if draft.chance(0.5) else arms[::-1]


def arm(draft: Draft, base: str, is_tensor: bool = True) -> str:
    """One arm."""
    return pair(draft, base, is_tensor)[0]
