"""Conditions on tensor data: plain ones, and those of which it matters how often, and whether, they are evaluated."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_HONEST = (
    "{b}.sum() > {k}", "{b}.mean() < {k}", "{b}.max() > {k}", "torch.isnan({b}).any()", "({b} > {k}).all()",
    "{b}.abs().max() > {k}", "{b}.any()", "{b}.sum()", "torch.sum({b}) > {k}", "{b}.min() == {k}", "{b}.sum() != {k}",
    "bool({b}.any())", "{b}.sum() >= {k}", "torch.isfinite({b}).all()", "({b} == {k}).any()", "torch.any({b} < {k})",
)  # fmt: skip
_CONVERTED = (
    "{b}.max().item() > {k}", "float({b}.sum()) > {k}", "int({b}.sum()) > {k}", "{b}.sum().item() > 16777216",
    "{b}.max().item() == 0.1", "{b}.sum().item() == 16777217", "math.isnan({b}.sum())", "math.isinf({b}.max().item())",
    "torch.allclose({b}, {o})", "{b}.equal({o})", "{b}.is_nonzero()", "{b}.sum().bool()", "{b}.tolist()",
    "{b}.item() > {k}", "len({b}.nonzero()) > 1", "{b}.sum().item() is None", "{b}.mean().item() > {number}",
    "{b}.sum().int() > {k}", "{b}.sum().item() // 2 > {k}", "{b}.sum().item() % 2 == 1",
    "{b}.max().item() - {b}.min().item() > {k}", "{b}.max().item() / 3 > 0.1", "abs({b}.sum()) > {k}",
    "max({b}.sum(), {k}) > 1", "round(float({b}.sum())) > {k}", "{b}.sum().item() == {b}.sum().item()",
    "{b}.numpy().sum() > {k}", "np.sum({b}.detach().numpy()) > {k}", "{b}.sum().item() > 10**20", "{b}.sum() > 2**63",
    "{b}.sum().item() >= float('inf')", "str({b}.sum().item()) > '1'",
)  # fmt: skip
_THRESHOLDS = (
    "{b}.max() > {number}", "{b}.sum() > {n}", "{b}.sum() > {total}", "{b}.max() > {b}.shape[0]", "{b}.max() > 0.1",
    "{b}.max() > 16777216", "{b}.sum() == 16777217", "{b}.sum() > {held}", "{b}.mean() > {LIMIT}", "{b}.sum() > {e}",
    "{b}.sum() > {o}.sum()", "{b}.max() > True", "{b}.sum() == None", "{b}.sum() > {anything}", "{n} < {b}.sum()",
    "{b}.sum() > {SCALE} * {n}", "{b}.max() > {b}.numel()", "{b}.sum() != {n}", "{b}.sum() is not None",
)  # fmt: skip
_BROADCAST = (
    "{b} > {k}", "{b}[0] > {k}", "{b}.mean(-1) > {k}", "{b}.sum(dim=0) > {k}", "{b}.reshape(1) > {k}", "{b}[:1] > {k}",
    "({b} > {k}).all(dim=-1)", "{b}.sum().reshape(1, 1) > {k}", "{b}", "{b}.sum(dim=0, keepdim=True) > {k}",
    "{b}.sum() > {o}", "{b}.max() > torch.ones(1)", "torch.sum({b}, -1) > {k}", "{b}.max(-1).values > {k}", "{b}[-1]",
    "{b}.squeeze() > {k}", "{b}.norm(dim=-1) > {k}", "{b}.amax(keepdim=True) > {k}", "torch.tensor([1.0]) > {b}.sum()",
)  # fmt: skip
_STATEFUL = (
    "{score}({b}) > {k}", "torch.rand(()) > 0.5", "{b}.add_(5).sum() > {k}", "next({IT}) < {b}.sum()",
    "torch.rand(1) > {b}.mean()", "{layer}({b}).sum() > {k}", "{layer}({b}).mean() > 0", "{helper}({b}).sum() > {k}",
    "random.random() < {b}.sum()", "{b}.sum() > np.random.rand()", "{b}.sum() > {COUNTS}.append(1)",
    "{pure}({b}).sum() > {k}", "{LOUD}.add(1) < {b}.sum()", "{b}.sum() > {LOUD}.value", "{b}.sum() > {total}",
    "{b}.mul_(-1).max() > {k}", "{plainly}({b}) > {k}", "{b}.bernoulli().sum() > {k}",
    "torch.nn.functional.dropout({b}).sum() > {k}", "{b}.data.add_(1).sum() > {k}", "{b}.sum() > len({TABLE}['k'])",
    "{b}.sum() > {QUEUE}.get()", "{b}.exponential_().sum() > 1", "{b}.sum() > {DICT}.setdefault('c', 0)",
    "{b}.relu_().any()", "{b}.sum() > next({NUMBERS})", "{b}.requires_grad_().any()", "{b}.any() and {LOUD}",
    "torch.randn_like({b}).sum() > 0", "torch.sigmoid_({b}).sum() > 1", "{b}.sum(out=torch.empty(())) > 0",
)  # fmt: skip
_BOOLEAN = (
    "{c} and {d}", "{c} or {d}", "not {c}", "{flag} and {c}", "{c} and {flag}", "{n} > 2 or {c}", "not ({c} and {d})",
    "{flag} or {c}", "({c} or {d}) and {flag}", "{c} is True", "{b}.numel() > 0 and {c}", "{b}.ndim == 2 and {c}",
    "{b}.any() and (1 / {b}.sum()) > 0", "{b}.ndim > 1 and {b}[0].sum() > {k}",
    "{b}.shape[0] > 1 and {b}[1].max() > {k}", "{c} if {flag} else {d}", "{e} is not None and {e} > {b}.sum()",
    "isinstance({e}, torch.Tensor) and {e}.sum() > 0", "{b}.numel() > 0 and {b}.max() > {k}",
    "{c} and {b}.shape[1] > {k}", "{c} or {b}.max(dim=1).values.sum() > {k}", "{c} and {d} or {flag}", "({c}) == ({d})",
    "({c}) != True", "{c} & {d}", "{c} | {d}", "~({c})", "{c} and len({b}) > 1", "torch.is_tensor({e}) and {c}",
    "{c} and {o}.sum() > 0", "{flag} and {c} and {n} > 1", "{c} and {LOUD}.value > 1",
    "{c} and {helper}({b}).sum() > 0", "{c} or {score}({b}) > {k}", "{c} and {b}.add_(1).sum() > 0",
)  # fmt: skip
_CHAINS = (
    "{k} < {b}.sum() < 5", "-1 < {score}({b}) < 1", "0 < {b}.sum() < {n}", "0 <= {b}.min() <= {b}.max() <= 1",
    "0 < {layer}({b}).sum() < 2", "{b}.min() < {k} < {b}.max()", "0 < torch.rand(()) + {b}.sum() < 1",
    "-1 < {b}.add_(1).sum() < 9", "0 < {n} < {b}.sum()", "0 < {b}.sum() != {n}", "0 == {b}.sum() == {o}.sum()",
    "{b}.sum() > {helper}({k}) > -2", "0 < {b}.sum() > {LOUD}.value", "1 > {b}.sum() in (0.0, 1.0)",
    "1 < next({IT}) < {b}.sum() + 9", "{b}.sum() < {n} < 3",
)  # fmt: skip
_MEMBERS = ("3 in {b}", "{n} in {b}", "0 not in {b}", "{b}.sum() in (0, 1)", "{k} in {b}.tolist()", "{e} in {b}")


_ODD = (
    (15, "threshold", _THRESHOLDS), (15, "converted condition", _CONVERTED), (12, "broadcasting condition", _BROADCAST),
    (22, "stateful condition", _STATEFUL), (20, "boolean operators", _BOOLEAN), (10, "chained comparison", _CHAINS),
    (6, "membership", _MEMBERS),
)  # fmt: skip


def condition(draft: Draft, base: str, depth: int = 0) -> str:
    """A condition on the tensor ``base``, as people write it, or one that a rewrite may get wrong."""
    templates = _HONEST
    if draft.odd(0.5):
        _, feature, templates = draft.rng.choices(_ODD, [row[0] for row in _ODD])[0]
        draft.features.add(feature)
    elif depth == 0 and draft.chance(0.08):
        templates = ("{c} and {d}", "{c} or {d}", "not {c}", "{flag} and {c}")
    template = draft.pick(templates)
    inner = {hole: condition(draft, base, depth + 1) for hole in "cd" if f"{{{hole}}}" in template}
    return draft.fill(template, b=base, **inner)
