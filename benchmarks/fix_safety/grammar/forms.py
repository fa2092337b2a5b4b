"""Forms that have a rewrite of their own: reductions of Python over tensors, text and numbers that are shown, draws,
old ways to make tensors, numpy on Python numbers, lines with semicolons, and stores in a branch."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_SHOWN = (
    ["text = 'mean %s' % x.sum()", "print(text)", "y = x * 2"],
    ["text = str(x.sum())", "{LOG}.info('a ' + text)", "y = x"],
    ["text = repr(x)", "y = x * 2"],
    ["text = '%s' % x", "y = (x, len(text))"],
    ["v = x.sum().item()", "print('v', v)", "y = x"],
    ["v = x.sum().item()", "print(v)", "y = x * v"],
    ["v = float(x.sum())", "{LOG}.info('%f', v)", "y = x"],
    ["v = x.sum().item() + next({IT})", "print(v)", "y = x"],
    ["text = '%s %s' % (x.sum(), {LOUD})", "print(text)", "y = x"],
    ["text = str(x.sum())", "y = (x, 'text' in locals())"],
    ["text = str([x.sum(), {COUNTS}.append(1)])", "y = x"],
    ["v = x.sum().item()", "f = lambda: v", "y = (x, f())"],
    ["v = x.sum().item()", "{TABLE}['v'] = v", "y = x"],
    ["v = x.max().item()", "if v > 1:", "    print(f'{v:.3f}')", "    x = x / 2", "y = x"],
    ["v = x.sum().item()", "try:", "    print(1 // int(v))", "except ZeroDivisionError:", "    x = x + 1", "y = x"],
    ["if {LOG}.isEnabledFor(10):", "    {LOG}.debug('%s', x.sum())", "y = x"],
    ["if {LOG}.isEnabledFor(10):", "    {COUNTS}.append(1)", "    {LOG}.debug('a')", "y = x"],
    ["if {LOG}.getEffectiveLevel() <= 10 and {COUNTS}.append(1) is None:", "    {LOG}.debug('a')", "y = x"],
    ["y = x * 2; print(y.shape)"],
    ["print('a'); y = x * 2; print('b')"],
    ["y = x", "if {flag}: y = x + 1; print(y.sum())"],
    ["y = x; print('a'); {COUNTS}.append(1); print('b')"],
    ["if {flag}: print('a'); x = x + 1", "y = x"],
    ["for i in range(2): x = x + i; print(i)", "y = x"],
    ["y = x; print('%s' % x.sum()); y = y * 2"],
)
_SHOWN_IN_A_BRANCH = (
    ["v = x.sum().item()", "if v > {k}:", "    print('large', v)", "y = x"],
    ["v = x.sum().item()", "if v > {k} and {flag}:", "    print(v)", "elif v < 0:", "    {LOG}.info('%f', v)", "y = x"],
    ["v = x.sum().item()", "w = v * 2", "if w > {k}:", "    print(v, w)", "y = x"],
    ["v = x.sum().item()", "if v > {k}:", "    {COUNTS}.append(v)", "    print(v)", "y = x"],
    ["v = x.sum().item()", "if v > {k}:", "    print(next({IT}), v)", "y = x"],
    ["v = x.sum().item()", "if v > {k}:", "    print(v)", "y = x * v"],
    ["v = x.sum().item()", "if {flag}:", "    if v > {k}:", "        print(v)", "    x = x + 1", "y = x"],
    ["y, b = x, 0.0", "for row in (x, x * 2):", "    v = row.sum().item()", "    if v > b:", "        b = v; print(v)"],
    ["t = time.time()", "y = x * 2", "if time.time() - t > {k}:", "    print('slow')"],
    ["v = x.sum()", "y = x + v", "v = v.item()", "if v > {k}:", "    y = y - v", "y = y * v"],
    ["v = x.sum()", "f = lambda: v", "v = v.item()", "y = (x * v, f())"],
    ["v = x.sum()", "if {flag}:", "    v = v.item()", "y = x * v"],
    ["v = x.max().item()", "y = x * (x >= v)"],
    ["v = x.max().item()", "y = x[x >= v].sum()"],
    ["v = x.sum().item()", "y = x * (-v) ** 2 + float(v - 1) * 2"],
    ["v = x.sum().item()", "y = x * abs(v - 5) + min(1.0, v / 3)"],
)  # fmt: skip
_ASKED = (
    ["y = x", "if any(t > {k} for t in x.reshape(-1)):", "    y = x * 2"],
    ["y = x * 2 if all([x.any(), x.sum() > {k}]) else x"],
    ["ok = any([x.any(), x.all()])", "y = x * 2 if ok else x"],
    ["y = x * 2 if any(x.reshape(-1) > {k}) else x"],
    ["y = x * 2 if any(t.any() for t in ()) else x"],
    ["y = x * 2 if all(({n}, x.any())) else x"],
    ["y = x * 2 if torch.equal(x, {o}) else x"],
    ["y = x * 2 if not x.equal(x.abs()) else x"],
    ["y = x * 2 if x.equal(x) and x.sum() > {k} else x"],
    ["y = x * 2 if x.argmax() in [0, 1] else x"],
    ["y = x * 2 if x.sum() not in (0, {n}) else x"],
    ["y = x * 2 if x.sum().item() in (0.0, 1.0) else x"],
    ["y = x * 2 if any({COUNTS}.append(1) or t > 0 for t in x.reshape(-1)) else x"],
)
_MADE = (
    ["y = torch.autograd.Variable(x) * 2"],
    ["y = torch.autograd.Variable(x, requires_grad=True) * 2"],
    ["y = x * 2", "y.data = y.data.abs()"],
    ["y = x.float() * 1", "z = y.view(-1)", "y.data = y * 2", "y = (y, z)"],
    ["y = x + torch.ones(3, requires_grad=True)"],
    ["y = x + torch.zeros(3).random_(0, 3)"],
    ["y = x.clone()", "y.random_(0, 3)"],
    ["y = x.view(-1).random_(0, 2)", "y = (x, y)"],
    ["y = (x, hash(x) == id(x))"],
    ["parts = copy.deepcopy([x.detach(), x.detach()])", "y = parts[0] + parts[1]"],
    ["parts = copy.deepcopy({'a': x.detach(), 'n': 2})", "y = parts['a'] * parts['n']"],
    ["part = x.detach()", "parts = copy.deepcopy([part, part])", "parts[0].add_(1)", "y = parts[1]"],
    ["with contextlib.ExitStack() as stack:", "    stack.enter_context(torch.no_grad())", "    y = x * 2"],
    [
        "with contextlib.ExitStack() as stack:",
        "    if {flag}:",
        "        stack.enter_context(torch.no_grad())",
        "    y = x * 2",
    ],
    ["with contextlib.ExitStack() as stack:", "    stack.callback({COUNTS}.append, 1)", "    y = x * 2"],
)
_NUMBERS = (
    ["y = x * int(np.gcd(x.shape[0], 6))"],
    ["y = x * np.lcm(2, x.shape[0])"],
    ["y = x * float(np.ceil(x.shape[0] / 4))"],
    ["ends = np.cumsum([1, x.shape[0]]).tolist()", "y = x * ends[-1]"],
    ["y = x * int(np.max([1, x.shape[0]]))"],
    ["y = x * int(np.sqrt(x.shape[0]))"],
    ["y = x * int(np.round(x.shape[0] / 4))"],
    ["k = np.maximum(2, x.shape[0])", "y = (x, k == 2)"],
    ["y = x * torch.tensor([1, x.shape[0]]).max().item()"],
    ["y = x * torch.tensor(x.shape).prod().item()"],
    ["sizes = [1, 2]", "t = torch.tensor(sizes)", "sizes.append(9)", "y = x * t.max().item()"],
    ["ends = torch.tensor([1, 2, x.shape[0]]).cumsum(0).tolist()", "y = x * ends[-1]"],
    ["y = x * torch.tensor([0.1, 0.2]).sum().item()"],
    ["y = x * math.exp(x.float().mean())"],
    ["y = x / math.sqrt(x.abs().sum())"],
    ["y = x * math.pow(x.sum(), 2)"],
    ["y = x * (torch.cuda.device_count() + 1)"],
)
_DRAWN = (
    ["y = x * 2 if random.random() < 0.5 else x"],
    ["p = random.random()", "y = x", "if p < 0.5:", "    y = x * 2"],
    ["p = random.uniform(0, 1)", "y = x * 2 if {flag} and p < 0.5 else x"],
    ["p = random.random()", "print(p)", "y = x * 2 if p < 0.5 else x"],
    ["y = x", "for i in range(3):", "    if random.random() < 0.5:", "        continue", "    y = y + i"],
)
_STORED = (
    ["y = x * 1", "if x.sum() > {k}:", "    y.clamp_(max=1)"],
    ["y = x * 1", "z = y[0]", "if x.sum() > {k}:", "    y.zero_()", "y = (y, z)"],
    ["y = x * 1", "if x.sum() > {k}:", "    y[0] = 3"],
    ["y = x * 1", "if x.sum() > {k}:", "    y[0] += x.sum()", "    print('a')"],
    ["if x.sum() > {k}:", "    x.mul_(2)", "y = x"],
    ["y = x", "if x.sum() > {k}:", "    y.add_(1)", "y = (x, y)"],
    ["y, z = x, x * 2", "if x.sum() > {k}:", "    y, z = z, y"],
    ["if x.sum() > {k}:", "    return x * 2, x.sum()", "return x, x.mean()"],
    ["if x.sum() > {k}:", "    return x, 1", "else:", "    return x * 2, 2"],
    ["y = x * 1", "if x.sum() > {k}:", "    y.data.fill_(1)"],
    ["y = None", "if x.sum() > {k}:", "    y = x"],
    ["y = x * 1", "if x.sum() > {k}:", "    y[{n}] = 0"],
)
_ALL = (*_SHOWN, *_SHOWN, *_SHOWN_IN_A_BRANCH, *_ASKED, *_MADE, *_NUMBERS, *_DRAWN, *_STORED)


def form(draft: Draft) -> tuple[list[str], str]:
    """One of the forms."""
    draft.features.add("a form of its own")
    return [draft.fill(line) for line in draft.pick(_ALL)], "y"
