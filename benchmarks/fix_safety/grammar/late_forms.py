"""Forms whose rewrite changes how often code runs, or what is computed: indices of masks, exits of loops, ``match`` on
numbers, buffers that stay, draws that become operators, layers of a call, lists of numbers that were tensors, early
returns of what is empty, loops over the rows that masks select, models of a library that miss a setting."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_INDICES = (
    ["y = x * len(torch.nonzero(x > {k}))"],
    ["n = (x > {k}).nonzero().shape[0]", "y = x / max(n, 1)"],
    ["y = x + torch.nonzero(x > {k}).float().sum()"],
    ["y = (x, torch.argwhere(x > {k}).sum(0))"],
    ["y = (x, (x.reshape(-1) > {k}).nonzero()[0])"],
    ["rows = torch.where(x.reshape(-1) > {k})[0]", "y = (x, rows.max())"],
    ["idx = (x.reshape(-1) > {k}).nonzero().squeeze(1)", "y = x.reshape(-1)[idx].sum()"],
    ["idx = (x.reshape(-1) > {k}).nonzero(as_tuple=True)[0]", "y = x.reshape(-1)[idx].mean(0)"],
    ["mask = x.reshape(-1) > {k}", "idx = mask.nonzero()[:, 0]", "y = x.reshape(-1) * 1", "y[idx] = 0.0"],
    ["m = x.reshape(-1) > {k}", "idx = m.nonzero()[:, 0]", "m[:] = True", "y = x.reshape(-1) * 1", "y[idx] += 1"],
    ["idx = torch.nonzero(x > {k})", "y = x", "if idx.numel() > 0:", "    y = x * 2"],
    ["idx = torch.nonzero(x > {k})", "if len(idx) == 0:", "    {COUNTS}.append(1)", "y = x"],
    ["idx = (x.reshape(-1) > {k}).nonzero()[:, 0]", "y = x.reshape(-1) * 1", "if len(idx) > 0:", "    y[idx] = {n}"],
    [
        "m = (x.reshape(-1) > {k}).long()",
        "idx = m.nonzero()[:, 0]",
        "y = x.reshape(-1) * 1",
        "if idx.numel() != 0:",
        "    m[idx] = 0",
        "    y[idx] += m[idx]",
    ],
    ["y = x / torch.unique(x).numel()"],
    ["u = torch.unique_consecutive(x > {k})", "y = (x, len(u))"],
    ["if len((x > {k}).unique()) > 1:", "    raise ValueError('not alike')", "y = x"],
    ["y = x * len(x[x > {k}])"],
    ["m = x > {k}", "f = x[m]", "m[:] = True", "y = x + f.numel()"],
    ["if x[x > {k}].numel() != x.numel():", "    raise ValueError('not all')", "y = x * 2"],
    ["y = (x, torch.add(x, x, alpha=x.sum()))"],
    ["y = torch.linalg.lstsq(x.float().reshape(-1, 1), torch.ones(x.numel(), 1)).solution"],
)
_LOOPS = (
    ["for i in range(4):", "    x = x * 0.5", "    if x.abs().max() < {k}:", "        break", "    x = x + 1", "y = x"],
    [
        "n = 0",
        "for i in range(3):",
        "    x = x + i",
        "    n += 1",
        "    if x.sum() > {k}:",
        "        break",
        "y = x * n",
    ],
    ["n = 0", "for i in range(3):", "    n += 1", "    if x.sum() > {k}:", "        break", "y = (x, n)"],
    ["for i in range(3):", "    z = x * i", "    if z.sum() > {k}:", "        return z", "return x"],
    ["for i in range(min({n}, 9)):", "    if x.sum() > {k}:", "        return x * i", "return x"],
    ["for i in range(3):", "    x += 1", "    if x.sum() > {k}:", "        break", "y = x"],
    ["i = 0", "while True:", "    x = x * 0.5", "    i += 1", "    if x.sum() < 1 or i > 5:", "        break", "y = x"],
    ["i = 0", "while x.sum() > 1 and i < 4:", "    x = x - 1", "    i += 1", "y = (x, i)"],
    [
        "while True:",
        "    x = x - 9",
        "    {COUNTS}.append(1)",
        "    if not x.sum() > 1 or len({COUNTS}) > 9:",
        "        break",
        "y = x",
    ],
)
_NUMBERS = (
    ["k = int((x.sum() > {k}).item())", "match k:", "    case 0:", "        y = x", "    case _:", "        y = x + 1"],
    ["match x.argmax().item():", "    case 0 | 1:", "        return x", "    case _:", "        return x * 2"],
    [
        "k = x.sum().item()",
        "y = x",
        "match k:",
        "    case -1:",
        "        y = x - 1",
        "    case 2:",
        "        y = x / 2",
    ],
    ["k = x.argmax().item()", "if k == 0:", "    y = x", "elif k == 1:", "    y = x + k", "else:", "    y = x - 1"],
    ["n = (x > {k}).sum().item()", "s = math.log(n) if n > 0 else 1.0", "y = x * s"],
    ["m = x.sum().item()", "y = x * ({n} / m if m != 0 else -m)"],
    ["s = x.sum() if {n} > 1 else {n}", "if isinstance(s, torch.Tensor):", "    s = s.item()", "y = x * s"],
    ["s = x.sum()", "try:", "    v = s.item()", "except AttributeError:", "    v = s", "y = x + v"],
    ["try:", "    v = int(x.sum())", "except (ValueError, OverflowError):", "    v = 0", "y = x + v"],
    ["try:", "    v = int(x.sum())", "except ValueError:", "    v = 0", "y = x + v"],
)
_DRAWS = (
    ["y = x * random.choice([1, 2, 3])"],
    ["y = x * random.choice((0.5, {n}))"],
    ["y = x * random.gauss(0.0, 1.0)"],
    ["p = random.betavariate(0.4, 0.4)", "y = p * x + (1 - p) * x.flip(0)"],
    ["p = random.gauss(0.0, 1.0)", "y = (x, p)"],
    ["p = random.gauss({n}, 1.0)", "y = x * p"],
    ["y = x * np.random.beta(0.4, 0.4)"],
    ["for i in range(3):", "    if np.random.rand() < 0.5:", "        continue", "    x = x + i", "y = x"],
    ["p = np.random.uniform(0, {n})", "if p > 0.5:", "    x = x * 2", "y = x"],
    ["t = ()", "for i in range(3):", "    if x.sum() > {k}:", "        continue", "    t = t + (x,)", "y = (x, t)"],
)
_OF_A_MODULE = (
    ["lin = nn.Linear(3, 3)", "y = lin(x.float())"],
    ["y = nn.Softmax(-1)(x.float())"],
    ["y = x * {held}.sum().item()"],
    ["y = x * 2 if {held}.sum() > {k} else x"],
    ["y = x * len({held}.reshape(-1).tolist())"],
    ["{held}.add_(1)", "y = x * {held}.sum().item()"],
)
_LISTS = (
    ["c = [{n}, 2]", "t = torch.tensor(c)", "c.append(9)", "y = x + t.max().item()"],
    ["c = [2, 3]", "c = torch.tensor(c)", "c.add_(1)", "y = x + c.max().item()"],
    ["c = [row.numel() for row in x]", "y = torch.tensor(c)", "y = x + y.sum().item()"],
    ["y = torch.repeat_interleave(x.reshape(-1)[:1], torch.tensor([1, 2]))"],
    ["c = [len(x)]", "y = x.repeat_interleave(torch.tensor(c), 0)"],
    ["c = [1] * len(x)", "y = torch.repeat_interleave(x, torch.tensor(c), dim=0)"],
    ["d = dict(b=x, a=x + {k})", "y = [v for _, v in sorted(d.items())]"],
    ["d = [(1, x), (1, x + 1)]", "y = sorted(d)"],
)
_SHORTCUTS = (
    ["m = x.reshape(-1) > {k}", "if m.all():", "    return x.reshape(-1)", "y = x.reshape(-1)[m]"],
    ["m = x.reshape(-1) > {k}", "if not m.any():", "    return x * 0", "y = x.reshape(-1)[m] * 2"],
    ["f = x[x > {k}]", "if len(f) == 0:", "    {COUNTS}.append(1)", "    return f", "y = f.max()"],
    ["f = x[x > {k}]", "if f.numel() == 0:", "    return x.new_zeros(0)", "y = f * 2"],
)
_TABLE = ["h = x.reshape(-1, 1)", "ids = (h > {k}).long()", "out = torch.zeros_like(h)"]
_ROUTED = (
    [*_TABLE, "for e in range(2):", "    r, s = torch.where(ids == e)", "    out[r] += h[r] * {n}", "y = out"],
    [
        *_TABLE,
        "for e in range(2):",
        "    r, s = torch.where(ids == e)",
        "    if r.numel() == 0:",
        "        continue",
        "    out[r] += h[r] * h[r, s, None]",
        "y = out",
    ],
    [
        *_TABLE,
        "for e in range(3):",
        "    m = ids[:, 0] == e",
        "    if m.any():",
        "        out[m] += h[m] * e",
        "    elif e == {n}:",
        "        out[0, 0] += 0 * sum(v.sum() for v in [h])",
        "y = out",
    ],
    [
        *_TABLE,
        "for e in range(2):",
        "    m = ids[:, 0] == e",
        "    if not m.any():",
        "        {COUNTS}.append(e)",
        "        continue",
        "    out[m] += h[m] - h[m].sum()",
        "y = out",
    ],
    [
        *_TABLE,
        "for e in ids.unique().tolist():",
        "    r = (ids[:, 0] == e).nonzero()[:, 0]",
        "    out[r] = h[r] * e",
        "y = out",
    ],
    [
        *_TABLE,
        "for e in range(2):",
        "    m = (ids == e).any(-1)",
        "    r = m.nonzero().flatten()",
        "    m[:] = False",
        "    out.index_add_(0, r, h[r] / len(r))",
        "y = out",
    ],
    [
        "h = x.reshape(-1, 1).repeat(1, 2)",
        "ids = (h > {k}).long()",
        "out = torch.zeros_like(h)",
        "for e in range(2):",
        "    r, s = torch.where(ids == e)",
        "    out[r] += h[r] + s[:, None]",
        "y = out",
    ],
    ["y = torch.bincount((x.reshape(-1) > {k}).long(), minlength=2)"],
    ["c = torch.bincount(x.reshape(-1).long().abs(), minlength={n})", "y = (x, c)"],
)
_HISTORY = (
    ["y = x * 2", "if y.grad_fn is not None:", "    y = y + 1"],
    ["y = x if x.grad_fn is None else x * 2"],
    ["y = x.to(torch.float32)", "y = (y, y.grad_fn is not None, x.grad_fn is None)"],
    ["y = x.detach() if not x.grad_fn else x"],
    ["x = x.requires_grad_() if x.is_floating_point() and x.is_leaf else x", "y = x * (1 if x.grad_fn else 2)"],
    ["y = x + (1 if {e} is not None and {e}.grad_fn is None else 2)"],
    ["with torch.no_grad():", "    y = x * 2", "y = y if (y.grad_fn is None) == {flag} else y + 1"],
    ["y = x * 2", "y = (y, y.grad_fn, type(y.grad_fn).__name__)"],
)
_OF_A_LIBRARY = (
    ["ids = torch.zeros(1, 4, dtype=torch.long)", "y = (x, {LANGUAGE}(ids, labels=ids).loss)"],
    ["ids = torch.ones(1, 3, dtype=torch.long)", "y = x + {LANGUAGE}(input_ids=ids, labels=ids)[0]"],
)
#: Those of a library take seconds to import, and are drawn less often.
_OWN = _INDICES + _LOOPS + _NUMBERS + _DRAWS + _OF_A_MODULE + _LISTS + _SHORTCUTS + _ROUTED + _HISTORY
_ALL = (*_OWN * 4, *_OF_A_LIBRARY)


def late_form(draft: Draft) -> tuple[list[str], str]:
    """One of the forms."""
    draft.features.add("indices, loops, match, draws, buffers")
    return [draft.fill(line) for line in draft.pick(_ALL)], "y"
