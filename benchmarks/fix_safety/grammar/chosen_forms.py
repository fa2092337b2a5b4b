"""Forms that choose values: early returns under a test of Python, numbers with a bound, sides that bind several names,
what has no finite gradient on the side not taken, computed indices, and checks whose function is called in a try."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_RETURNS = (
    ["s = x.sum()", "if {flag} and s > {k}:", "    print('large')", "    return x / s, s", "y = x * 2", "return y, s"],
    ["if {flag} and x.sum() > {k}:", "    x = x * 2", "    return x", "x = x + 1", "return x.abs().sqrt()"],
    ["if {flag} is None and x.sum() > {k}:", "    return x * 2", "else:", "    return x"],
    ["if {COUNTS} and x.sum() > {k}:", "    {COUNTS}.append(1)", "    return x", "y = x * 2", "return y"],
    ["s = x.sum()", "if s > {k}:", "    return x / s", "return x * 2"],
    ["y = x", "if x.sum() > {k}:", "    return x, y", "x = x + 1", "return x, y"],
    [
        "m = x.reshape(-1) > {k}",
        "if not m.any():",
        "    return x.sum()",
        "y = x.reshape(-1)[m]",
        "return y.sum() / len(y)",
    ],
)
_BOUNDED = (
    ["v = x.sum().item()", "if v < {k}:", "    v = 1.0", "y = x / v"],
    ["v = x.max().item()", "if v == 0: v = {n}", "y = x * v + v"],
    ["v = x.sum().item()", "if v > {k}:", "    v = v * 0.5", "y = (x * v, {COUNTS}.append(v))"],
    ["v = x.sum().item()", "if x.sum() > {k}:", "    v = 2.0", "y = x * v"],
    ["v = x.sum().item()", "if v < {k}:", "    v = None", "y = x if v is None else x * v"],
    ["v = x.sum().item()", "y = x / max(v, {number})"],
    ["v = x.sum().item()", "y = x * min({n}, v)"],
    ["v = x.sum().item()", "y = x * max(v, v + 1)"],
)
_SIDES = (
    ["s = x.sum()", "if s > {k}:", "    a, b = x / s, s", "else:", "    b, a = x, s * 2", "y = (a, b)"],
    ["a, b = x, x.sum()", "if b > {k}:", "    a, b = b, a / b", "y = (a, b)"],
    ["a, b = x, [x]", "if x.sum() > {k}:", "    a, *b = x, x", "y = (a, b)"],
    [
        "t = x.sum()",
        "if t > {k}:",
        "    s = t.sqrt()",
        "    a, b = x / s, s",
        "elif t < 0:",
        "    s = (-t).log()",
        "    a, b = s, x / s",
        "else:",
        "    s = x",
        "    a, b = s, s",
        "y = (a, b)",
    ],
    ["y = x", "if x.sum() > {k}:", "    y = x / x.norm()"],
    ["y = x", "s = x.sum()", "if s > {k}:", "    y = torch.log(s) * x ** 0.5 + x.div(s)"],
    ["y = x", "if x.sum() > {k}:", "    y = x * min({n}, math.sqrt(2))"],
    ["y = x", "if x.sum() > {k}:", "    y = x * max({number}, {COUNTS}.append(1) or 1)"],
    [
        "if x.sum() > {k}:",
        "    if not torch.compiler.is_compiling():",
        "        print('a')",
        "        {COUNTS}.append(1)",
        "    x = x * 2",
        "y = x",
    ],
)
_INDEXED = (
    ["h = x.reshape(1, -1) * 1", "i = h.argmax()", "h[0, i] = {n}", "y = h"],
    ["h = x.reshape(1, -1)", "i = h.argmax()", "y = h[0, i]", "y.add_(1)", "y = (h, y)"],
    ["h = x.reshape(1, -1)", "i = (h > {k}).sum() - 1", "y = (h[0, i], h[0, None, i], h[:, i])"],
    ["h = x.reshape(-1, 1) * 1", "i = h.argmax()", "h[i, 0] += 2", "y = (h, h[i, i * 0])"],
)
_CHECKED = (
    [
        "def g(v):",
        "    if v.sum() > {k}:",
        "        raise ValueError('large')",
        "    return v",
        "try:",
        "    y = g(x)",
        "except ValueError:",
        "    y = x * 2",
    ],
    ["def g(v):", "    assert (v < {k}).all(), 'large'", "    return v", "y = g(x)"],
)
_ALL = (*_RETURNS, *_BOUNDED, *_SIDES, *_INDEXED, *_CHECKED)


def chosen_form(draft: Draft) -> tuple[list[str], str]:
    """One of the forms."""
    draft.features.add("values that are chosen")
    return [draft.fill(line) for line in draft.pick(_ALL)], "y"
