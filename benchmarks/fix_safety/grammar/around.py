"""What stands around a choice: writes before and after it, state, conversions, masks, and what is returned."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_BEFORE = (
    "import torch", "from torch import nn as torch", "import torch.nn.functional as F",
    "x.register_hook({COUNTS}.append)", "x = torch.Tensor(x)", "x = torch.as_tensor(x)", "x = {same}(x)",
    "x: torch.Tensor = x", "x = x * 1", "x = x.clone()", "x.add_(1)", "x = x.detach()", "keep = x", "keep = x[:1]",
    "x = x.view(x.shape)", "{COUNTS}.append(x.shape)", "x = F.dropout(x.float(), 0.5)", "noise = torch.rand(2)",
    "x = x + {held}", "x = {layer}(x)", "x = x.float()", "x.mul_(2)", "x = x * {n}", "mask = x > 0",
    "total = x.sum().item()", "size = x.shape[0] if x.ndim else 1", "x = x[...]", "x = torch.nan_to_num(x)",
    "x = x.t() if x.ndim == 2 else x", "torch = torch", "F = torch.nn.functional",
    "x = x.requires_grad_() if x.is_floating_point() and x.is_leaf else x", "x = x.to(torch.float64)",
    "{COUNTS}.append(float(x.sum()))", "global COUNT", "numbers = x.tolist()", "x = x if {flag} else x * 2",
    "x = x.contiguous()",
)  # fmt: skip
_AFTER = (
    "import torch", "{y}.register_hook(lambda g: {COUNTS}.append(1))",
    "x.register_hook(lambda g: {COUNTS}.append(g.sum()))", "names = sorted(locals())", "{y} = torch.nn.Parameter({y})",
    "{y}.grad = None", "del x", "{y} = {y}.to('cpu')", "{y} = {y}.contiguous()", "{y} = {y}.view({y}.shape)",
    "{y} = {y}.clone()", "{y} = {y} * 1", "{COUNTS}.append({y} is x)", "{y}.requires_grad_(False)", "{y}.add_(1)",
    "{y} += 1", "{y}[0] = 5", "x.zero_()", "x.add_(1)", "{COUNTS}.append({y})", "same = {y} is x", "z = {y}; z += 1",
    "{y}.requires_grad_()", "kind = type({y}).__name__", "shape = getattr({y}, 'shape', None)",
    "own = {y}.data_ptr() == x.data_ptr()", "version = {y}._version", "leaf = {y}.is_leaf", "dtype = {y}.dtype",
    "{y} = {y} * 2", "{y} = {y} + x", "{y} = {y}.sum()", "{y}.retain_grad()", "{y} = {y}.item()", "{y} = {y}.view(-1)",
    "{y}.mul_(2)", "x[0] = 7", "{y}.zero_()", "text = f'{{y}}'", "known = {y} == x", "{y}.detach_()",
    "{y}.data.add_(1)", "{y}.stamp = 1", "size = len({y})", "{y} = [{y}] * 2", "{y} = {y} @ {y}.T",
    "ok = isinstance({y}, torch.Tensor)", "{y} = {y} if {flag} else x", "{y} = {y} - {y}.detach()",
    "stride = {y}.stride()", "{y}.t_()", "{y} = torch.add({y}, 1, out={y})", "{y}.fill_(3)", "{y}[...] = {y} * 2",
    "parts = {y}.unbind(0)", "{y} = {y}.numpy()", "hash({y})", "{y} = torch.stack([{y}, {y}])", "{held}.add_(1)",
    "torch.relu_({y})", "{y}.copy_(x)", "{y}.set_(x)", "x.set_({y})", "{y} = {y} or x", "{y} = {y}.tolist()",
    "{y} = {y} + total", "{y} = {y}[0]", "print({y})", "print(type({y}), {y}.dtype)", "f = lambda: {y}",
    "{y} = str({y})", "assert {y} is not None", "{y} = ({y}, {y} is x)", "{y} **= 2",
)  # fmt: skip
_NET_AFTER = (
    "self.last = {y}",
    "self.seen_before = x",
    "self.steps = getattr(self, 'steps', 0) + 1",
    "self.cache = [{y}, x]",
    "self.training = False",
)
_RETURNS = (
    "return {y}, sorted(name for name in locals() if name in ('y', 'z', 'limit'))", "return {y}.shape, {y}.dtype",
    "return {y}", "return {y}", "return {y}", "return {y}", "return {y}, x", "return {y} + 0", "return {'y': {y}}",
    "return {y} if {flag} else x", "return [{y}]", "return {y}, {y} is x", "return {y} * x", "return x, {y}, x",
    "return type({y}).__name__, {y}", "return {y}, id({y}) == id(x)", "return {y} + 1", "return ({y},)",
    "return lambda: {y}", "return {y}, 'tail'", "return ({y} + x).sum()", "return {y}.sum()",
)  # fmt: skip
_CONVERSIONS = (
    ["s = x.sum().item()", "y = x * s"], ["s = float(x.mean())", "y = x + s"], ["k = int(x.sum())", "y = x * k"],
    ["y = x.tolist()"], ["s = x.max().item()", "y = x / s if s else x"], ["b = bool((x > 0).any())", "y = x * b"],
    ["y = x.sum().item()"], ["values = x.tolist()", "y = x + values[0]"],
    ["s = x.sum().item()", "y = torch.full((2,), s)"], ["s = round(x.sum().item(), 2)", "y = x + s"],
    ["y = np.sum(x.detach().numpy())"], ["s = x.mean().item()", "y = (x, s)"], ["n0 = len(x.nonzero())", "y = x * n0"],
    ["y = x * math.sqrt(abs(x.sum().item()))"], ["y = [v * 2 for v in x.tolist()]"],
    ["s = x.sum().item()", "{COUNTS}.append(s)", "y = x"], ["y = x * float(x.sum() > 0)"],
    ["y = max(x.sum().item(), 1)"], ["y = x + (x.sum().item() > 0)"], ["ok = x.any() and x.sum() > 0", "y = x * ok"],
    ["ok = not x.any()", "y = (x, ok)"], ["y = x.any() or x.all()"], ["y = x.sum() > 0 and {o}"],
    ["y = torch.tensor(x.sum().item())"], ["y = f'{x.sum()}'"], ["y = x * torch.tensor(float(x.sum()))"],
    ["y = np.prod(x.shape) * x"], ["y = int(x.max()) in (1, 2)"],
)  # fmt: skip
_MASKS = (
    ["y = x[x > 0]"], ["y = x[x > 0].sum()"], ["x[x > 0] = 0", "y = x"], ["y = x.clone()", "y[y < 0] = 0.5"],
    ["y = x * 1", "y[x > 1] *= 2"], ["y = x.nonzero()"], ["y = torch.where(x > 0)"],
    ["mask = x > 0", "y = x.clone()", "y[mask] = y[mask] * 2"], ["y = x[{o} > 0]"],
    ["y = torch.masked_select(x, x > 0)"], ["y = x[x > 0].mean()"], ["y = x.clone()", "y[x[0] > 0] = 1"],
    ["y = x.unique()"], ["y = x[x.sum(-1) > 0]"], ["y = x[torch.isnan(x)].numel()"], ["y = x[x != x].any()"],
    ["y = x.clone()", "y[torch.isnan(y)] = 0"], ["y = x.clone()", "y[y > 0] += {o}.sum()"], ["y = x[x > 0].max()"],
    ["y = torch.nonzero(x > 0).shape[0]"], ["x[torch.isinf(x)] = {n}", "y = x"], ["y = x.masked_fill(x > 0, {n})"],
    ["y = torch.zeros_like(x)", "y[x > 0] = x[x > 0]"], ["y = x[x > 0].tolist()"],
)  # fmt: skip
_COUNTERS = (
    ["self.steps_ = getattr(self, 'steps_', 0) + 1", "y = x * self.steps_"], ["{number} += 1", "y = x * 2"],
    ["{COUNTS}.append(1)", "y = x * len({COUNTS})"], ["global COUNT", "COUNT += 1", "y = x * COUNT"],
    ["{DICT}['n'] = {DICT}.get('n', 0) + 1", "y = x"], ["y = x * next({NUMBERS})"],
    ["{held}.add_(1)", "y = x + {held}"], ["y = x + torch.rand(())"], ["y = F.dropout(x.float(), 0.5)"],
    ["y = x * random.random()"], ["y = x + np.random.rand()"],
)  # fmt: skip


def before(draft: Draft) -> list[str]:
    """A line ahead of the choice."""
    return [_own_lines(draft, draft.pick(_BEFORE))]


def after(draft: Draft, name: str) -> list[str]:
    """A line after the choice, which may show what it gave: a copy, a view, or the argument itself."""
    options = (*_AFTER, *_NET_AFTER * 3) if draft.is_net else _AFTER
    return [draft.fill(draft.pick(options), y=name)]


def result(draft: Draft, name: str) -> str:
    """The return statement."""
    return draft.fill(draft.pick(_RETURNS), y=name)


def conversion(draft: Draft) -> tuple[list[str], str]:
    """Tensor data that becomes a Python value."""
    draft.features.add("conversion")
    return [_own_lines(draft, line) for line in draft.pick(_CONVERSIONS)], "y"


def mask(draft: Draft) -> tuple[list[str], str]:
    """Masks, and other shapes that depend on data."""
    draft.features.add("mask")
    return [_own_lines(draft, line) for line in draft.pick(_MASKS)], "y"


def counter(draft: Draft) -> tuple[list[str], str]:
    """State that changes from call to call, and random numbers."""
    draft.features.add("state")
    options = _COUNTERS if draft.is_net else _COUNTERS[2:]
    lines = draft.pick(options)
    held = draft.hold(draft.pick(("3", "0.5"))) if "{number}" in "".join(lines) else ""
    twin = draft.hold("torch.zeros(())") if "{held}" in "".join(lines) else ""
    if "COUNT " in "".join(lines) or "COUNT\n" in "\n".join(lines):
        draft.use("COUNT")
    return [draft.fill(line, number=held, held=twin) for line in lines], "y"


def _own_lines(draft: Draft, line: str) -> str:
    if "COUNT" in line and "COUNTS" not in line:
        draft.use("COUNT")
    return draft.fill(line)
