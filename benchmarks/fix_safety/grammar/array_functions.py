"""Functions that make arrays with numpy, which become operators of the graph: as people write them, and with what an
operator has to keep or must refuse, such as other shapes and dtypes, state, arguments written to, uses of the array."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_PARAMETERS = (
    "shape: tuple[int, int], p: float", "shape: tuple[int, ...], p: float = 0.5", "shape: list[int], p: float",
    "shape: Tuple[int, int], p: float, least: int = 0", "shape: tuple[int, int], p: float, mask: torch.Tensor = None",
    "shape: tuple[int, int], p: float, mask: Optional[torch.Tensor] = None",
    "shape: tuple[int, int], *, p: float = 0.25, low: bool = False",
)  # fmt: skip
_ODD_PARAMETERS = (
    "shape, p", "shape: tuple[int, int], p", "shape: tuple[int, int], p: float, *more: int",
    "shape: tuple[int, int], p: float = next(IT)", "shape: list[int], p: float, seen: list = COUNTS",
    "shape: tuple[int, int], /, p: float", "shape: tuple[int, int], p: int", "shape: tuple[int, int], p: bool",
    "shape: List[int] = [2, 3], p: float = LIMIT", 'shape: "tuple[int, int]", p: "float"',
)  # fmt: skip
_STARTS = ("rows, columns = shape", "rows, columns = shape", "columns, rows = shape", "[rows, columns] = shape")
_ODD_STARTS = (
    "rows, columns = shape[1], shape[0]", "rows, columns = shape\nrows = rows + 1", "rows, *columns = shape",
    "rows, columns = shape\nshape = (3, 3)", "rows, columns = shape\nif p > 0.3:\n    columns = 3",
    "rows = columns = shape", "rows, columns = np.random.randint(1, 3), 3",
    "shape = shape[::-1]\nrows, columns = shape",
)  # fmt: skip
_MADE = (
    "np.zeros((rows, columns), dtype=bool)", "np.zeros((rows, columns))", "np.ones((rows, columns), dtype=np.float32)",
    "np.full((rows, columns), 2, dtype=np.int64)", "np.zeros(shape)", "np.ones(shape, dtype=int)",
    "np.zeros((rows, columns), np.int32)", "np.full(shape, fill_value=p, dtype=float)", "np.zeros([rows, columns])",
    "np.zeros((rows, 3), dtype=np.bool_)", "np.zeros(rows)", "np.zeros(dtype=bool, shape=(rows, columns))",
)  # fmt: skip
_ODD_MADE = (
    "np.full((rows, columns), p)", "np.zeros((rows, columns + 1))", "np.zeros((rows, columns), dtype=np.uint8)",
    "np.zeros((rows, columns), dtype=np.float16)", "np.zeros_like(HELD)", "np.random.rand(rows, columns)", "HELD",
    "np.zeros((rows, columns), order='F')", "np.broadcast_to(np.zeros(columns), (rows, columns))", "np.array(shape)",
    "np.zeros((rows, columns), dtype=complex)", "np.zeros((rows, columns)).T", "np.zeros(shape, dtype=object)",
)  # fmt: skip
_DRAWS = (
    "drawn = np.random.rand(1).item()\nout[:1] = drawn", "out[np.random.randint(0, 2)] = 1",
    "for row in range(rows):\n    out[row] = random.random() > p", "out[0] = np.random.uniform(0, 1)",
    "picked = np.random.choice(rows, 1, replace=False)\nout[picked] = True", "out += int(np.prod(shape))",
    "out[np.random.choice(rows, 1).item()] = 1", "out *= np.random.poisson(2.0)",
    "for row in np.random.permutation(rows).tolist():\n    out[row] = row",
    "def count(n):\n    return int(p * n + np.random.rand(1).item())\nout[: count(rows)] = 1",
)  # fmt: skip
_ODD_LINES = (
    "out = out[:1]", "out = out.astype(np.float64)", "out.shape = (-1,)", "out.resize((1, 2), refcheck=False)",
    "COUNTS.append(1)", "COUNTS.append(out)", "global COUNT\nCOUNT = COUNT + 1", "np.random.seed(3)", "print('drawn')",
    "out = np.asfortranarray(out)", "out = out > 0", "shape = None", "assert rows > 1, 'few'", "out -= next(IT)",
    "if p > 0.4:\n    raise ValueError('high')", "if p > 0.4:\n    return None", "if p > 0.4:\n    return out * 2",
    "if isinstance(shape, torch.Size):\n    out[:] = 1", "if isinstance(shape, list):\n    out[:] = 1",
    "shape = [*shape, 1]\nout[0] = len(shape)", "if not isinstance(p, float):\n    out[:] = 1", "out[0] = p is True",
    "warnings.warn('drawn')", "HELD[0] = np.random.rand()", "out[0] = HELD[0]", "out.flags.writeable = False",
    "for out in (out, out[:1]):\n    pass", "with np.errstate(all='ignore'):\n    out /= out", "del rows",
    "def inner():\n    nonlocal out\n    out = out[:1]\ninner()", "out[0] = torch.rand(()).item()", "(out := out[:1])",
    "shape.append(1)", "out = out", "out[0] = shape == (2, 3)", "out[0] = torch.is_grad_enabled()",
)  # fmt: skip
_OF_MASK = (
    "if mask is not None:\n    out[0] = mask.sum().item()",
    "kept = mask.sum(-1).tolist() if mask is not None else [0]\nout[0] = kept[0]",
    "if mask is not None:\n    out[0] = mask.detach().numpy().max()",
)  # fmt: skip
_ODD_OF_MASK = (
    "if mask is not None:\n    mask.add_(1)", "if mask is not None:\n    mask.detach().numpy()[0] = 9",
    "if mask is not None:\n    out[0] = mask.requires_grad", "if mask is not None:\n    out = mask.detach().numpy()",
    "if mask is not None:\n    out[0] = mask.is_leaf", "if mask is not None:\n    mask[0] = 1",
)  # fmt: skip
_SHAPES = ("x.shape", "(x.shape[0], x.shape[1])", "(2, 3)", "tuple(x.shape)", "x.size()", "(len(x), 3)", "x.shape[:2]")
_ODD_SHAPES = (
    "[2, 3]",
    "list(x.shape)",
    "{n}",
    "(2.0, 3)",
    "x.T.shape",
    "(2, 3, 4)",
    "torch.Size([2, 3])",
    "(True, 3)",
)
_RATES = ("0.5", "0.3", "p=0.25", "p=0.5")
_ODD_RATES = ("1", "p={n}", "p=True", "{number}", "p=random.random()", "p=x.mean().item()", "p={LIMIT}", "p=float({n})")
_CALLS = (
    ["m = spans({call})", "m = torch.tensor(m, device=x.device)"], ["m = spans({call})", "m = torch.from_numpy(m)"],
    ["m = torch.from_numpy(spans({call}))"], ["m = torch.tensor(spans({call}), dtype=torch.float32)"],
    ["m = torch.as_tensor(spans({call}), device=x.device, dtype=x.dtype)"], ["m = torch.tensor(spans({call}))"],
)  # fmt: skip
_ODD_CALLS = (
    ["a = spans({call})", "m = torch.tensor(a)"], ["m = spans({call})", "k = m.sum()", "m = torch.tensor(m) + k"],
    ["m = torch.tensor(spans({call}).T)"], ["m = torch.tensor([spans({call})])", "m = m[0]"],
    ["m = torch.tensor(spans({call}), requires_grad=True)"], ["m = torch.Tensor(spans({call}))"],
    ["spans({call})", "m = torch.tensor(spans({call}))"], ["held = spans", "m = torch.tensor(held({call}))"],
    ["m = torch.from_numpy(spans({call}))", "m += 1"], ["m = torch.as_tensor(spans({call}))", "m.mul_(2)"],
    ["m = m_ = spans({call})", "m = torch.tensor(m)"], ["with torch.no_grad():", "    m = torch.tensor(spans({call}))"],
    ["m = torch.tensor(spans({call}))", "m = m + torch.tensor(spans({call}))"],
    ["m = [torch.tensor(spans({call})) for _ in range(2)][1]"], ["m = torch.tensor(spans({call}), dtype=None)"],
)  # fmt: skip
_USES = (
    "y = x.masked_fill(m.bool(), 0)", "y = x * m", "y = torch.where(m > 0, x, -x)", "y = x + m.sum()", "y = (x, m)",
    "y = x * m.float().mean()", "y = x if {flag} else x * m", "y = (x * 2, m.shape, m.dtype)", "y = m",
)  # fmt: skip


def array_function(draft: Draft) -> tuple[list[str], str]:
    """A function that makes an array, above the module or the function that makes a tensor of it."""
    draft.features.add("array function")
    parameters = draft.pick(_ODD_PARAMETERS if draft.odd(0.15) else _PARAMETERS)
    body = [
        draft.pick(_ODD_STARTS if draft.odd(0.15) else _STARTS),
        f"out = {draft.pick(_ODD_MADE if draft.odd(0.15) else _MADE)}",
        draft.pick(_DRAWS),
    ]
    if "mask" in parameters:
        body.insert(2, draft.pick(_ODD_OF_MASK if draft.odd(0.3) else _OF_MASK))
    if draft.chance(0.3):
        body.insert(2, "if p == 0.5:\n    return out")
    if draft.odd(0.5):
        body.insert(draft.rng.randrange(2, len(body) + 1), draft.pick(_ODD_LINES))
    lines = [line for part in body for line in part.split("\n")]
    _define(draft, parameters, [*lines, "return out"])
    call = _call(draft, parameters)
    made = draft.pick(_ODD_CALLS if draft.odd(0.25) else _CALLS)
    return [*(draft.fill(line, call=call) for line in made), draft.fill(draft.pick(_USES))], "y"


def _define(draft: Draft, parameters: str, body: list[str]) -> None:
    text = "\n".join([f"def spans({parameters}):", *draft.block(body)])
    for name in ("COUNTS", "COUNT", "IT", "LIMIT"):
        if name in text:
            draft.use(name)
    draft.need("import numpy as np", "from typing import List, Optional, Tuple")
    draft.need_for(text)
    if "HELD" in text:
        draft.globals["HELD"] = "HELD = np.zeros((2, 3))"
    draft.globals["spans"] = text


def _call(draft: Draft, parameters: str) -> str:
    """The arguments of the call."""
    rate = draft.fill(draft.pick(_ODD_RATES if draft.odd(0.2) else _RATES))
    if "*, p" in parameters and "=" not in rate:
        rate = f"p={rate}"
    given = [draft.fill(draft.pick(_ODD_SHAPES if draft.odd(0.15) else _SHAPES)), rate]
    if "mask" in parameters and draft.chance(0.8):
        given.append(f"mask={draft.pick(('x', 'x > 0', 'x.detach()', 'None'))}")
    return ", ".join(given)
