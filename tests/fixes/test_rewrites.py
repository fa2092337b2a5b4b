"""Every rewrite of the library: found by the static pass, applied, run in eager and compiled, applied again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint import engine
from graphdoctor.model.findings import Finding

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
F = "def f(x):\n"
TAIL = "\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"

BUFFER = ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
          "        self.table = nn.Buffer(torch.ones(8))\n\n    def forward(self, x):\n")  # fmt: skip

#: Programs whose breaks a rewrite removes, and a line that the fixed program must have.
REWRITTEN = {
    "index": (HEAD + F + "    return x[:, x[0].argmax()] * 2\n", "x[:, x[0].argmax().long().reshape(1)].squeeze(1) * 2"),
    "index_beside_numbers": (HEAD + F + "    i = x[0].argmax() % 4\n    return x[2, i] + x[None, :2, i].sum()\n",
                             "x[2, i.long().reshape(1)].squeeze(0) + x[None, :2, i.long().reshape(1)].squeeze(2).sum()"),
    "index_of_two": (HEAD + F + "    i = x[0].argmax() % 4\n    return x[i, i + 1] * 2\n",
                     "x[i.long().reshape(1), (i + 1).long().reshape(1)].squeeze(0) * 2"),
    "index_to_store": (HEAD + F + "    y = x * 1\n    y[1, x[0].argmax() % 4] = x[0, 0]\n    return y\n",
                       "y[1, (x[0].argmax() % 4).long().reshape(1)] = x[0, 0]"),
    "index_to_add": (HEAD + F + "    y = x * 1\n    y[:, x[0].argmax() % 4] += 2\n    return y\n",
                     "y[:, (x[0].argmax() % 4).long().reshape(1)] += 2"),
    "variable_over_lines": ("from torch.autograd import Variable\n" + HEAD + F
                            + "    y = Variable(\n        x.clone()\n        .add(1)\n    )\n    return y * 2\n", ".add(1)).detach()"),
    "index_of_mask": (HEAD + F + "    i = torch.nonzero_static(x > -9, size=1)[0, 1]\n    row = x[1:, i - 1]\n    return row.sum()\n", "row = x[1:, (i - 1).long().reshape(1)].squeeze(1)"),
    "clock": ("import time\n" + HEAD + F + "    t0 = time.time()\n    y = x * 2\n    dt = time.time() - t0\n"
              "    print(dt)\n    return y\n", "dt = time.time() - t0"),
    "file": (HEAD + F + "    with open('/dev/null', 'a') as log:\n        log.write('x')\n    return x * 2\n",
             "if not torch.compiler.is_compiling():"),
    "logger": ("import logging\n" + HEAD + F + "    log = logging.getLogger('n')\n    log.info('a')\n    return x * 2\n",
               "        log = logging.getLogger('n')"),
    "hoist": ("import zlib\n" + HEAD + F + "    n = zlib.crc32(b'abc') % 7\n    return x * n\n",
              "_CRC32 = zlib.crc32(b'abc')"),
    "hoist_local_import": (HEAD + F + "    import statistics\n\n    m = statistics.mean([1, 2, 3])\n    return x * m\n",
                           "_M = statistics.mean([1, 2, 3])"),
    "tqdm": ("from tqdm import tqdm\n" + HEAD + F + "    for i in tqdm(range(3)):\n        x = x + i\n    return x\n",
             "for i in range(3) if torch.compiler.is_compiling() else tqdm(range(3)):"),
    "item_branch": (HEAD + F + "    n = x.abs().max().item()\n    if n > 1.0:\n        x = x / n\n    return x\n",
                    "x = torch.where(condition, x / torch.where(condition, n, 1), x)"),
    "item_round": (HEAD + F + "    r = round(x.mean().item(), 3)\n    return x - r\n",
                   "r = torch.round(x.mean().detach(), decimals=3)"),
    "item_tensor": (HEAD + F + "    return torch.tensor(x.sum().item()) * 2\n", "x.sum().detach().clone() * 2"),
    "item_list": (HEAD + F + "    vals = [row.max().item() for row in x]\n    return x + max(vals)\n",
                  "vals = [row.max().detach() for row in x]"),
    "item_append": (HEAD + F + "    out = []\n    for row in x.unbind(0):\n        out.append(row.sum().item())\n"
                    "    return torch.tensor(out)\n", "out.append(row.sum().detach())"),
    "item_at_least_one": (HEAD + F + "    n = int((x > 0).sum())\n    return x.sum() / max(n, 1)\n",
                          "return x.sum() / n.clamp(min=1)"),
    "item_precedence": (HEAD + F + "    n = x.sum()\n    a = (-n.item()) ** 2\n    b = float(n.item() - 1) * 2\n    c = abs(n.item() - 5)\n"
                        "    d = min(1.0, n.item() / 1000)\n    return x * a + x * b + x * c + x * d\n",
                        "a = (-n.detach()) ** 2\n    b = (n.detach() - 1) * 2\n    c = (n.detach() - 5).abs()\n"
                        "    d = torch.where((number := n.detach() / 1000) < 1.0, number, 1.0)"),
    "item_compared": (HEAD + F + "    loss = x.mean(1)\n    top, _ = loss.topk(2)\n    t = top[-1].item()\n"
                     "    return loss * (loss >= t)\n", "    t = top[-1].detach()\n    return loss * (loss >= t)\n"),
    "item_same_name": (HEAD + F + "    scale = x.exp().mean().clamp(max=100)\n    y = x + scale\n    scale = scale.item()\n"
                       "    if scale > 1:\n        y = y - scale\n    return y * scale\n",
                       "    scale = scale.detach()\n    y = torch.where(scale > 1, y - scale, y)\n    return y * scale\n"),
    "tolist": (HEAD + F + "    v = x.mean(0).tolist()\n    return x + v[0]\n", "v = x.mean(0).detach()"),
    "float_bound": (HEAD + F + "    return torch.clamp(x, max=float(x.mean()))\n", "max=x.mean().detach())"),
    "math": ("import math\n" + HEAD + F + "    n = x.abs().sum().item()\n    return x / math.sqrt(n)\n",
             "return x / torch.sqrt(n.double())"),
    "math_beside_one": ("import math\n" + HEAD + F + "    n = x.abs().mean()\n    return x * (n + math.exp(n))\n",
                        "return x * (n + torch.exp(n.detach().double()).to(n.dtype))"),
    "math_condition": ("import math\n" + HEAD + F + "    n = math.exp(x.mean())\n    if n > 1:\n        x = x / n\n    return x\n",
                       "n = torch.exp(x.mean().detach())"),
    "item_raise": (HEAD + F + "    total = x.sum().item()\n    if abs(total) > 1e9:\n        raise ValueError('got %s' % total)\n    return x / total\n",
                   "        raise ValueError('got %s' % total.item())"),
    "item_writes": (HEAD + F + "    n, y = x.max(), x * 2\n    n = n.item()\n    y = y.clamp(max=n).mul(n)\n    y[0] = n\n    y[:, 1:] *= n\n"
                    "    z = torch.zeros(8)\n    z.fill_(n)\n    return y.masked_fill(y > 0, n) + z\n", "    n = n.detach()\n"),
    "append_in_each_side": (HEAD + F + "    out = []\n    for row in x:\n        if row.mean() > 0:\n            big = row / 2\n            out.append(big + 1)\n"
                            "        elif row.max() > 0.2:\n            out.append(row)\n        else:\n            out.append(-row)\n    return torch.stack(out)\n",
                            "        out.append(chosen)\n"),
    "entry_in_each_side": (HEAD + F + "    kept = {}\n    if x.sum() > 0:\n        kept['a'] = x * 2\n    else:\n        kept['a'] = x - 1\n    return kept['a']\n",
                           "    kept['a'] = chosen\n"),
    "assert_equal": (HEAD + F + "    assert torch.equal(x, x * 1), 'all'\n    return x * 2\n",
                     "        torch._assert_async(((x == (x * 1)).all() if x.shape == (x * 1).shape else torch.tensor(False)), \"all\")"),
    "parameter_without_gradient": (HEAD + F + "    b = nn.Parameter(torch.zeros(8), requires_grad=False)\n    return x + b + nn.Parameter(x * 2, False)\n",
                  "    b = torch.zeros(8)\n    return x + b + (x * 2).detach()\n"),
    "numpy_item": (HEAD + F + "    m = x.numpy().mean().item()\n    return x - m\n", "m = x.mean().detach()"),
    "numpy_prod": ("import numpy as np\n" + HEAD + F + "    n = np.prod(x.shape)\n    return x.reshape(int(n))\n",
                   "n = math.prod(x.shape)"),
    "and": (HEAD + F + "    ok = (x.mean() > 0) and (x.std() < 5)\n    return x * ok\n",
            "ok = (x.mean() > 0) & (x.std() < 5)"),
    "not": (HEAD + F + "    flag = not (x > 0).any()\n    return x + int(flag)\n", "return x + flag.long()"),
    "in": (HEAD + F + "    if 3 in x:\n        x = x + 1\n    return x\n", "torch.where((x == 3).any(), x + 1, x)"),
    "allclose": (HEAD + F + "    if torch.allclose(x, x + 1e-9):\n        return x + 1\n    return x\n",
                 "return torch.where(torch.isclose(x, x + 1e-9).all(), x + 1, x)"),
    "while": (HEAD + F + "    while x.abs().max() > 0.5:\n        x = x * 0.5\n    return x\n",
              "(x,) = torch.while_loop(lambda x: x.abs().max() > 0.5, lambda x: (x * 0.5,), (x,))"),
    "while_true": (HEAD + F + "    i = 0\n    while True:\n        x = x * 0.5\n        i += 1\n"
                   "        if x.abs().max() < 0.1 or i > 3:\n            break\n    return x\n",
                   "x, i = torch.while_loop(goes_on, one_round, (x, i))"),
    "while_return": (HEAD + F + "    while True:\n        y = x / 2\n        x = y\n        if x.norm() < 1:\n            return x + 1\n",
                     "    return x + 1"),
    "break_between": (HEAD + F + "    old = x\n    for i in range(6):\n        x = 0.5 * (x + 2 / (x.abs() + 1))\n"
                      "        if i > 1 and torch.norm(x - old) < 0.1:\n            break\n        old = x\n    return x + old\n",
                      "old = torch.where(done, old, x)"),
    "made_in_loop": (HEAD + F + "    for i in range(4):\n        x = torch.tanh(x * 1.5)\n        y = x * i\n        if y.sum() > 3:\n            break\n    return y\n",
                     "y = torch.where(done, y, x * i) if y is not None else x * i"),
    "two_indices": (HEAD + F + "    pos = torch.where(x[:, 0] > 0)[0]\n    neg = torch.where(x[:, 0] <= 0)[0]\n    y = torch.zeros_like(x)\n"
                    "    y[pos] = x[pos] * 2\n    y[neg] = x[neg] * 3\n    return y\n", "y.copy_(torch.where(neg_mask[..., None], x * 3, y))"),
    "return_in_loop": (HEAD + F + "    for i in range(4):\n        y = x * (i + 1)\n        if y.sum() > 3:\n            return y\n    return x\n",
                       "return x if early is None else torch.where(done, early, x)"),
    "match": (HEAD + F + "    k = int((x.sum() > 0).item())\n    match k:\n        case 0 | 2:\n            return x\n"
              "        case 1:\n            return x + 1\n        case _:\n            return x - 1\n",
              "return torch.where((k == 0) | (k == 2), x, torch.where(k == 1, x + 1, x - 1))"),
    "elif_number": (HEAD + F + "    k = int((x.sum() > 0).item())\n    if k == 0:\n        y = x\n    elif k == 1:\n        y = x + 1\n"
                    "    else:\n        y = x - 1\n    return y\n", "y = torch.where(k == 0, x, torch.where(k == 1, x + 1, x - 1))"),
    "indices_sum": (HEAD + F + "    rows, columns = torch.where(x > 0)\n    return rows.sum() + columns.float().sum()\n",
                    "torch.nonzero_static(mask, size=mask.numel(), fill_value=0).unbind(1)"),
    "indices_counted": (HEAD + F + "    n = len(torch.nonzero(x > 0))\n    return x.sum() / max(n, 1)\n", "n = torch.count_nonzero(x > 0)"),
    "indices_asked": (HEAD + F + "    idx = (x[:, 0] > 0).nonzero()\n    if idx.numel() > 0:\n        x = x + 1\n    return x\n",
                      "x = torch.where(torch.count_nonzero(idx_mask) > 0, x + 1, x)"),
    "indices_first": (HEAD + F + "    first = (x[0] > -9).nonzero()[0]\n    return x[0].gather(0, first)\n",
                      "torch.nonzero_static((x[0] > -9), size=1)[0]"),
    "indices_select": (HEAD + F + "    idx = torch.where(x[:, 0] > 0)[0]\n    y = torch.zeros_like(x)\n    y[idx] = torch.relu(x[idx]) + 1\n"
                       "    return y + x[idx].sum(0)\n", "y.copy_(torch.where(idx_mask[..., None], torch.relu(x) + 1, y))"),
    "indices_if": (HEAD + F + "    idx = torch.nonzero(x[:, 0] > 0).squeeze(1)\n    y = x.clone()\n    if len(idx) > 0:\n"
                   "        y[idx] = 3\n        y[idx] += x[idx]\n    return y\n",
                   "    y[idx_mask] = 3\n    y.copy_(torch.where(idx_mask[..., None], y + x, y))\n    return"),
    "indices_if_any": (HEAD + F + "    k = (x[:, 0] > 0).nonzero(as_tuple=True)[0]\n    y = x * 2\n    if k.numel():\n        y[k] = -1.5\n"
                       "    if k.shape[0] != 0:\n        y[k] = y[k] * 3\n    return y\n", "\n    y[k_mask] = -1.5\n"),
    "indices_of_numbers": (HEAD + F + "    m = (x[:, 0] > 0).long()\n    idx = torch.nonzero(m).squeeze(1)\n    y = x * 1\n    y[idx] = 3\n"
                           "    return y\n", "    idx_mask = m != 0\n"),
    "indices_of_a_changed_mask": (HEAD + F + "    m = x[:, 0] > 0\n    idx = torch.nonzero(m).squeeze(1)\n    m.fill_(False)\n"
                                  "    y = x * 1\n    y[idx] = 3\n    return y, m\n", "    idx_mask = m != 0\n"),
    "indices_of_a_written_mask": (HEAD + F + "    m = x[:, 0] > 0\n    idx = torch.nonzero(m).squeeze(1)\n    y = x * 1\n"
                                  "    if idx.size(0) >= 1:\n        m[idx] = False\n        y[idx] = 3\n    return y, m\n",
                                  "    m[idx_mask] = False\n    y[idx_mask] = 3\n"),
    "distinct_raise": (HEAD + F + "    m = x > 0\n    if len(torch.unique_consecutive(m.sum(1) * 0)) > 1:\n        raise ValueError('not alike')\n"
                       "    return x * 2\n", "torch._assert_async(~((((m.sum(1) * 0).flatten().diff() != 0).sum()"),
    "distinct_floats": (HEAD + F + "    n = torch.unique(x).numel()\n    k = (x > 0).unique()\n    return x / n + k.shape[0]\n",
                        "x.flatten().sort().values[1:] != x.flatten().sort().values[:-1]"),
    "number_or_one": ("import math\n" + HEAD + F + "    n = (x > 0).sum().item()\n    scale = math.log(n) if n > 0 else 1.0\n"
                      "    return x * scale\n", "scale = torch.where(n > 0, torch.log(n.double()), 1.0)"),
    "number_in_one_arm": (HEAD + F + "    m = x.abs().max().item()\n    s = 127.0 / (m * 2) if m > 0.5 else -m\n    return x * s\n",
                          "s = torch.where(m > 0.5, 127.0 / (m * 2), -m)"),
    "number_in_the_other": ("import math\n" + HEAD + F + "    n = int((x > 9).sum())\n    return x / (1 if n == 0 else math.sqrt(n + 1) * 2)\n",
                            "torch.where(n == 0, 1, torch.sqrt((n + 1).double()) * 2)"),
    "either_of_isinstance": (HEAD + "def g(x, scale):\n    if isinstance(scale, torch.Tensor):\n        scale = scale.item()\n    return x * scale\n\n\n"
                             + F + "    return g(x, x[:1, :1]) + g(x, 2.5)\n", "scale = scale.detach().reshape(())"),
    "either_of_try": (HEAD + "def g(x, scale):\n    try:\n        s = scale.item()\n    except AttributeError:\n        s = scale\n    return x * s\n\n\n"
                      + F + "    return g(x, x.mean()) + g(x, 2.5)\n", "s = scale.detach() if isinstance(scale, torch.Tensor) else scale"),
    "selected_checked": (HEAD + "def check(cond, text):\n    if isinstance(cond, torch.Tensor):\n        torch._assert_async(cond)\n"
                         "    elif not cond:\n        raise ValueError(text)\n\n\n"
                         + F + "    m = x > -9\n    check(x[m].numel() == x.numel(), 'other')\n    return x * 2\n",
                         "check((torch.count_nonzero(m) == x.numel()), 'other')"),
    "selected_counted": (HEAD + F + "    m = x[:, 0] > 0\n    chosen = x[m]\n    n = chosen.numel()\n    return x.sum() / max(len(chosen), 1) + n\n",
                         "n = torch.count_nonzero(m) * x.shape[m.ndim :].numel()"),
    "selected_raise": (HEAD + F + "    if x[x > -9].numel() != x.numel():\n        raise ValueError('other')\n    return x * 2\n",
                       "torch._assert_async(~(torch.count_nonzero(x > -9) != x.numel())"),
    "alpha": (HEAD + F + "    y = torch.add(x, x, alpha=x.mean())\n    return y.addcmul(x, x, value=x.mean())\n",
              "y.addcmul(x * x.mean(), x)"),
    "least_squares": (HEAD + F + "    return torch.linalg.lstsq(x[:, :4] + 9 * torch.eye(4), torch.ones(4, 1)).solution\n",
                      "torch.linalg.pinv(x[:, :4] + 9 * torch.eye(4))"),
    "operator": ("import random\n" + HEAD + F + "    low = 0.5\n    return x * random.gauss(0.0, 1.0) + random.betavariate(low, low)\n",
                 "def betavariate_operator(low: float) -> torch.Tensor:"),
    "while_two": (HEAD + "def step(x, by):\n    return x * by\n\n\n" + F + "    old = x + 9\n    while ((old - x).abs() > 0.1).any():\n"
                  "        old = x\n        half = step(x, 0.5)\n        x = half + 0\n    return x + old\n",
                  "        return old.clone(), x\n\n    old, x = torch.while_loop(goes_on, one_round, (old, x))"),
    "overflow": (HEAD + F + "    if torch.isinf(x).any() or torch.isnan(x).any():\n"
                 "        limit = torch.finfo(x.dtype).max - 1000\n        x = torch.clamp(x, min=-limit, max=limit)\n"
                 "    return x\n", "    x = torch.where(torch.isinf(x).any() | torch.isnan(x).any(), torch.clamp(x, "),
    "mask_write": (HEAD + F + "    y = torch.zeros_like(x)\n    m = x > 0\n    y[m] = x[m] * 2\n    return y\n",
                   "y.copy_(torch.where(m, x * 2, y))"),
    "mask_augment": (HEAD + F + "    y = x * 1\n    y[y > 0] += 1.5\n    return y\n",
                     "y.copy_(torch.where(y > 0, y + 1.5, y))"),
    "mask_rows": (HEAD + F + "    y = x * 1\n    m = x[:, 0] > 0\n    y[m] *= 3\n    return y\n",
                  "m[..., None]"),
    "mask_sum": (HEAD + F + "    kept = x[x > 0]\n    return kept.sum()\n", "kept = torch.where(x > 0, x, 0)"),
    "mask_mean": (HEAD + F + "    return x[x > 0].mean()\n", "torch.where(x > 0, x, 0).sum() / (x > 0).expand_as(x).sum()"),
    "mask_mean_rows": (HEAD + F + "    m = x[:, 0] > -9\n    return torch.mean(x[m], dim=0, keepdim=True)\n", ".sum(0, keepdim=True) / m.sum()\n"),
    "mask_expression": (HEAD + F + "    y = x.relu()\n    return y[y < 1].exp().sum()\n", "keep = y < 1\n"),
    "mask_selected": (HEAD + F + "    m, y = x > -9, x * 2\n    y = torch.masked_select(y, m)\n    z = x.masked_select(m)\n    return ((y - z) ** 2).mean().sqrt()\n",
                      "    keep = m.expand_as(y)\n    y = torch.where(keep, y, 1)\n"),
    "mask_selected_from_rows": (HEAD + F + "    m, y = x[:, :1] > -9, x * 2\n    z = torch.masked_select(y, m)\n    return (z * 3).mean()\n",
                                "    keep = m.expand_as(y)\n"),
    "mask_max": (HEAD + F + "    return torch.masked_select(x, x > 0).max()\n", "torch.where(x > 0, x, -torch.inf).max()"),
    "mask_call": (HEAD + "def g(x, w, low):\n    if x.min() < low:\n        raise ValueError('low')\n    w = torch.softmax(w, -1)\n"
                  "    return x + w[..., 0], x * w.sum(-1)\n\n\n" + F
                  + "    m = (x > -1) & (x < 0.4)\n    w = x[..., None].expand(4, 8, 3)\n    y, z = torch.zeros_like(x), x * 1\n"
                  "    if torch.any(m):\n        y[m], z[m] = g(x[m], w=w[m, :], low=-1)\n    return y + z\n",
                  "    new, new_1 = g(picked(x), w=picked(w), low=-1)\n"),
    "mask_call_rows": (HEAD + "def g(x):\n    return torch.stack([r for r in x.unbind(-1)], -1).cos()\n\n\n" + F
                       + "    m = x[:, 0] > 0\n    y = x * 2\n    y[m] = g(x[m])\n    return y\n", "    new = g(picked(x))\n"),
    "nonzero": (HEAD + F + "    return torch.nonzero(x > 0).prod()\n",
                "torch._dynamo.config.capture_dynamic_output_shape_ops = True"),
    "item_none": (HEAD + F + "    n = int((x[0] > 0).sum()) if x.numel() > 0 else 0\n    if n is None or isinstance(n, str):\n        return x\n"
                  "    try:\n        return x.new_zeros(n).sum() + x\n    except RuntimeError:\n        if n > 3:\n            raise ValueError from None\n"
                  "        raise\n", "torch._dynamo.config.capture_scalar_outputs = True"),
    "item_size": (HEAD + F + "    n = int((x[0] > 0).sum())\n    return x[:, :n]\n",
                  "torch._dynamo.config.capture_scalar_outputs = True"),
    "random": ("import random\n" + HEAD + F + "    return x * random.random()\n", "random.uniform(0.0, 1.0)"),
    "requires_grad": (HEAD + F + "    y = x.detach().requires_grad_(True)\n    return y * 3\n", "y.requires_grad_(True)"),
    "requires_grad_set": (HEAD + F + "    y = x.clone()\n    y.requires_grad = True\n    return y * 3\n",
                          "        y.requires_grad = True"),
    "parameter": (HEAD + F + "    w = nn.Parameter(torch.ones(8))\n    return x * w\n", "w = torch.ones(8)"),
    "context": (HEAD + F + "    with torch.backends.cudnn.flags(enabled=False):\n        return x * 2\n",
                "with contextlib.nullcontext() if torch.compiler.is_compiling() else torch.backends.cudnn.flags("),
    "check": (HEAD + F + "    torch._check_tensor_all(x < 100)\n    return x * 2\n",
              'torch._assert_async((x < 100).all(), "check failed: x < 100")'),
    "assert_close": (HEAD + F + "    torch.testing.assert_close(x, x.clone())\n    return x * 2\n",
                     "        torch.testing.assert_close(x, x.clone())"),
    "default": (HEAD + "def f(x, mask=None):\n    if mask is None and not torch.compiler.is_compiling():\n"
                "        mask = torch.ones(4, 8)\n    return x * mask[:, :8]\n", "    if mask is None:"),
    "masked_loss": (HEAD + F + "    m = x > 1\n    y = x * 2\n    return nn.functional.l1_loss(y[m], x[m])\n",
                    "nn.functional.l1_loss(torch.where(m, y, 1), torch.where(m, x, 1), reduction=\"none\"), 0).sum() / m.sum()"),
    "masked_classes": (HEAD + F + "    labels = x[:, :2].long().clamp(0, 3)\n    m = labels > 1\n    scores = x[:, :, None] * x[:, None, :4]\n"
                       "    scores = scores[:, :2]\n    return nn.functional.cross_entropy(scores[m], labels[m], reduction='sum')\n",
                       "scores.flatten(0, m.ndim - 1), torch.where(m, labels, -100).flatten(), reduction=\"sum\")"),
    "masked_token_loss": (HEAD + F + "    logits, labels = x[None].expand(2, 4, 8), torch.arange(8).view(2, 4)\n"
                          "    active = (labels > 1).view(-1)\n    rows = logits.reshape(-1, 8)[active]\n    kept = labels.view(-1)[active]\n"
                          "    loss = nn.CrossEntropyLoss()\n    return loss(rows, kept)\n",
                          "    return loss(rows, torch.where(active, kept, -100))\n"),
    "masked_tests": (HEAD + F + "    m = x > 0.5\n    return x * (x[m] < 2).all() + x[m].any()\n", ".all() + torch.where(m, x, False).any()"),
    "masked_names": (HEAD + F + "    m = x > 2.5\n    d = torch.log(x[m]) - torch.log(x[m] * 2)\n"
                     "    return torch.sqrt((d ** 2).mean() + d.mean() ** 2)\n",
                     "d = torch.log(torch.where(m, x, 1)) - torch.log(torch.where(m, x, 1) * 2)"),
    "mean_of_rows": (HEAD + F + "    rows = []\n    for c in range(2):\n        rows.append(x[x[:, 0] > c].mean(dim=0))\n"
                     "    return rows\n", "rows.append(torch.where(mask[..., None], x, 0).sum(0) / mask.sum())"),
    "minus_infinity": (HEAD + F + "    m = x > 1\n    if not m.all():\n        x = x.masked_fill(m, float('-inf'))\n"
                       "    return x\n", "x = torch.where(~m.all(), x.masked_fill(m, float('-inf')), x)"),
    "chain_in_place": (HEAD + F + "    y = x * 1\n    if x.sum() > 40:\n        y.mul_(2).add_(x, alpha=3)\n    return y\n",
                       "y.copy_(torch.where(condition, y.clone().mul(2).add(x, alpha=3), y))"),
    "experts": (HEAD + F + "    chosen = (x[:, :2] > 0.3).long()\n    mask = nn.functional.one_hot(chosen, 3).permute(2, 1, 0)\n"
                "    out = torch.zeros_like(x)\n    hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()\n"
                "    for e in hit:\n        k, rows = torch.where(mask[e].squeeze(0))\n        state = x[None, rows].reshape(-1, 8)\n"
                "        state = state * (e[0] + 1)\n        out.index_add_(0, rows, state.to(out.dtype))\n    return out\n",
                "hit = range(mask.shape[0])"),
    "sorted": (HEAD + F + "    s = sorted([x[0, 0], x[0, 1], x[0, 2]], reverse=True)\n    return s[0] - s[-1]\n",
               "list(torch.stack([x[0, 0], x[0, 1], x[0, 2]]).sort(descending=True).values)"),
    "none_default": (HEAD + "def f(x, scale=None):\n    scale = x[0, 0] + 9\n\n    def grow(y, by=None):\n"
                     "        by = by or torch.ones(1)\n        return y * by\n\n    return grow(x, scale)\n",
                     "by = by if by is not None else torch.ones(1)"),
    "break": (HEAD + F + "    for step in range(4):\n        y = x * 0.5\n        x = x + y + step\n        if x.sum() > 40:\n"
              "            break\n    return x\n", "x = torch.where(done, x, x + y + step)"),
    "continue": (HEAD + F + "    for step in range(4):\n        if (x * step).sum() > 10:\n            continue\n"
                 "        x = x + step\n    return x\n", "x = torch.where(skipped, x, x + step)"),
    "continue_by_flag": (HEAD + F + "    for step in range(4):\n        if x.requires_grad is False and (x * step).sum() > 10:\n"
                         "            continue\n        x = x + step\n    return x\n",
                         "x = torch.where(skipped, x, x + step) if x.requires_grad is False else x + step"),
    "store_by_round": (HEAD + F + "    out = torch.zeros(3, 8)\n    for g in range(3):\n        row = x[g]\n        if row.sum() > 1:\n"
                       "            out[g] = row * 2\n    return out\n",
                       "            out[g] = torch.where(condition, row * 2, out[g])\n".replace("            ", "        ")),
    "cond": (HEAD + "def scaled(x, by):\n    return x * by\n\n\n" + F + "    if x.sum() > 0:\n        y = scaled(x, 2)\n"
             "    else:\n        y = scaled(x, 3)\n    return y + 1\n",
             "y = torch.cond(x.sum() > 0, lambda: scaled(x, 2), lambda: scaled(x, 3))"),
    "cond_return": (HEAD + "def scaled(x, by):\n    return x * by\n\n\n" + F + "    if x.sum() > 0:\n"
                    "        return scaled(x, 2)\n    return x\n",
                    "return torch.cond(x.sum() > 0, lambda: scaled(x, 2), lambda: x.clone())"),
    "copied_dict": ("import copy\n" + HEAD + F + "    d = copy.copy({'a': x})\n    return d['a'] * 2\n", "{'a': x}.copy()"),
    "asdict": ("import dataclasses\n" + HEAD + "@dataclasses.dataclass\nclass Out:\n    a: torch.Tensor\n\n\n" + F
               + "    return dataclasses.asdict(Out(x))['a'] * 2\n", "return dict(vars(Out(x)))['a'] * 2"),
    "astuple": ("import dataclasses\n" + HEAD + "@dataclasses.dataclass\nclass Out:\n    a: torch.Tensor\n\n\n" + F
                + "    return dataclasses.astuple(Out(x))[0] * 2\n", "return tuple(vars(Out(x)).values())[0] * 2"),
    "globals": (HEAD + "SCALE = 2.0\n\n\n" + F + "    names = globals()\n    return x * names['SCALE']\n", "return x * SCALE"),
    "globals_direct": (HEAD + "SCALE = 2.0\n\n\n" + F + "    return x * globals()['SCALE']\n", "return x * SCALE"),
    "own_name": ("import sys\n" + HEAD + F + "    return x * len(sys._getframe(0).f_code.co_name)\n", 'x * len("f")'),
    "own_name_of_stack": ("import inspect\n" + HEAD + F + "    return x * len(inspect.stack()[0].function)\n", 'x * len("f")'),
    "callable": (HEAD + F + "    if callable(x.relu):\n        return x.relu()\n    return x\n", "if True:"),
    "signature": ("import inspect\n" + HEAD + F + "    def scale(t, factor=2, **others):\n        return t * factor\n\n"
                  "    if 'factor' not in inspect.signature(scale).parameters:\n        return x\n    return scale(x)\n",
                  "    if False:\n"),
    "bool": (HEAD + F + "    positive = bool((x > 0).any())\n    if positive:\n        x = x * 2\n    return x + 1\n",
             "    positive = (x > 0).any()\n    x = torch.where(positive, x * 2, x)\n"),
    "bools_added": (HEAD + F + "    a = bool((x > 0).any())\n    b = (x.max().item() > -9) + (x.min().item() < 9)\n"
                    "    return x * (a + b) - (a - -bool((x < 0).any()))\n",
                    "    return x * (a.long() + b) - (a.long() - -(x < 0).any().long())\n"),
    "reduced_by_numpy": ("import numpy as np\n" + HEAD + F + "    return x - np.mean(x.numpy()).item()\n",
                         "return x - x.mean().detach()"),
    "shape_alone": (HEAD + F + "    a = x.numpy().astype(object)\n    return x * a.shape[0]\n", "    a = x\n"),
    "pow": (HEAD + F + "    return pow(x + 1, 2)\n", "return (x + 1) ** 2\n"),
    "optional_import": (HEAD + F + "    try:\n        import missing_module\n\n        found = True\n    except ImportError:\n"
                        "        found = False\n    return x if found else x * 2\n", "\n\ntry:\n    import missing_module\n"),
    "class": (HEAD + F + "    class Scale:\n        by = 2\n\n    return x * Scale.by\n", "\n\nclass Scale:\n    by = 2\n"),
    "resize": (HEAD + F + "    y = x.clone()\n    y.resize_(8, 4)\n    return y\n", "y = y.reshape(8, 4)"),
    "resize_as": (HEAD + F + "    y = x.clone()\n    y.resize_as_(torch.zeros(8, 4))\n    return y\n",
                  "y = y.reshape(torch.zeros(8, 4).shape)"),
    "memory": (HEAD + F + "    return x * x.untyped_storage().nbytes()\n", "x * (x.numel() * x.element_size())"),
    "sparse": (HEAD + F + "    s = x.to_sparse()\n    return s.to_dense() * 2\n", "return s.clone() * 2"),
    "sparse_direct": (HEAD + F + "    return (x * 2).to_sparse().to_dense()\n", "return (x * 2).clone()\n"),
    "sparse_product": (HEAD + F + "    s = x.to_sparse()\n    return torch.sparse.mm(s, x.T)\n", "torch.mm(s, x.T)"),
    "device": (HEAD + F + "    with torch.device('cpu'):\n        # Eight of them.\n        ones = torch.ones(8)\n"
               "        if x.ndim > 1:\n            ones = ones + torch.zeros(1, dtype=x.dtype)\n    return x + ones\n",
               "    # Eight of them.\n    ones = torch.ones(8, device=torch.device('cpu'))\n    if x.ndim > 1:\n"),
    "any_all": (HEAD + F + "    rows = [r.sum() for r in x]\n    if any(r > 3 for r in rows):\n        x = x * 2\n"
                "    ok = all([(x > -9).all(), (x < 9).all()])\n    if ok:\n        x = x - 1\n    if any(x[0] > 2):\n"
                "        x = x + 1\n    if x.argmax() not in [0, 1]:\n        x = x + 3\n    return x\n",
                "torch.where(torch.stack([r > 3 for r in rows]).any(), x * 2, x)\n"
                "    ok = torch.stack([(x > -9).all(), (x < 9).all()]).all()\n    x = torch.where(ok, x - 1, x)\n"
                "    x = torch.where((x[0] > 2).any(), x + 1, x)\n"
                "    x = torch.where(~((x.argmax() == 0) | (x.argmax() == 1)), x + 3, x)\n"),
    "assert_mixed": (HEAD + F + "    assert x.sum() < 99 and x.ndim == 2, ('sum', x.ndim)\n    return x * 2\n",
                     '        assert x.ndim == 2, "assertion failed: x.sum() < 99 and x.ndim == 2"'),
    "equal": (HEAD + F + "    if x.ndim == 2 and torch.equal(x, x.detach()):\n        x = x * 2\n"
              "    if not torch.equal(x, x.abs()):\n        return x + 1\n    return x\n",
              "torch.where(~((x == x.abs()).all() if x.shape == x.abs().shape else torch.tensor(False)), x + 1, x)"),
    "old_forms": ("from torch.autograd import Variable\n" + HEAD + F + "    h = Variable(torch.zeros(8))\n    y = x * 2\n"
                  "    y.data = y.data.clamp(0, 1)\n    y = y + torch.ones(8, requires_grad=True)\n"
                  "    h.random_(0, 1)\n    return y + h + torch.empty(8).random_(0, 1) + (hash(x) - id(x))\n",
                  "    h = torch.zeros(8)\n    y = x * 2\n    y.data.copy_(y.data.clamp(0, 1))\n"
                  "    y = y + torch.ones(8, requires_grad=not torch.compiler.is_compiling())\n"
                  "    h.copy_(torch.randint_like(h, 0, 1))\n"
                  "    return y + h + torch.randint_like(torch.empty(8), 0, 1) + (id(x) - id(x))"),
    "numpy_numbers": ("import numpy as np\n" + HEAD + F + "    k = np.floor(x.shape[1] * 0.5).astype(int)\n"
                      "    ends = np.cumsum([0, 1, 2]).tolist()\n    if x.shape[1] % np.lcm(2, x.shape[0]) == 0:\n"
                      "        x = x[:, :k]\n    return x * int(np.gcd(x.shape[0], 6)) + int(np.max([1, x.shape[0]])) + ends[2]\n",
                      "    k = math.floor(x.shape[1] * 0.5)\n    ends = list(itertools.accumulate([0, 1, 2]))\n"
                      "    if x.shape[1] % math.lcm(2, x.shape[0]) == 0:\n        x = x[:, :k]\n"
                      "    return x * math.gcd(x.shape[0], 6) + max([1, x.shape[0]]) + ends[2]"),
    "numpy_log": ("import numpy as np\n" + HEAD + F + "    k = np.ceil(np.log(x.shape[1])).astype('int').item()\n"
                  "    return x[:, :k]\n", "    k = math.ceil(math.log(x.shape[1]))\n"),
    "numpy_element": ("import numpy as np\n" + HEAD + F + "    h = int(np.array(x.shape)[-1]) + np.asarray((2, 3))[0].item()\n"
                      "    return x * h\n", "    h = int(x.shape[-1]) + (2, 3)[0]\n"),
    "math_of_tensor": ("import math\n" + HEAD + F + "    s = math.exp(x.mean())\n    return x * math.pow(s, 2.0)\n",
                       "s = torch.exp(x.mean().detach().double())\n    return x * torch.pow(s.double(), 2.0)"),
    "probe": (HEAD + F + "    if torch.cuda.device_count() > 99:\n        x = x * 3\n    return x * 2\n",
              "_DEVICE_COUNT = torch.cuda.device_count()\n"),
    "deep_copies": ("import copy\n" + HEAD + F + "    parts = copy.deepcopy([x, x * 2])\n"
                    "    named = copy.deepcopy({'a': x, 'n': 3})\n    return parts[1] + named['a'] * named['n']\n",
                    "    parts = [value.clone() for value in ([x, x * 2])]\n    named = {key: value.clone() if isinstance("),
    "check_text": (HEAD + F + "    torch._check(x.shape[0] == 4, lambda: f'expected 4 rows, got {x.shape}')\n    return x\n",
                   'torch._check(x.shape[0] == 4, lambda: "expected 4 rows, got `x.shape`")'),
    "check_without_function": (HEAD + F + "    torch._check(x.shape[0] == 4, 'expected 4 rows')\n    return x * 2\n",
                               'torch._check(x.shape[0] == 4, lambda: "expected 4 rows")'),
    "contexts": ("import contextlib\n" + HEAD + F + "    with contextlib.ExitStack() as stack:\n        # No gradients.\n"
                 "        stack.enter_context(torch.no_grad())\n        if x.ndim > 2:\n"
                 "            stack.enter_context(torch.autocast('cpu'))\n        q = x[None, None]\n"
                 "        with torch.backends.cuda.sdp_kernel(False, enable_mem_efficient=False, enable_cudnn=False):\n"
                 "            return nn.functional.scaled_dot_product_attention(q, q, q)\n",
                 "    # No gradients.\n"
                 "    with torch.no_grad(), torch.autocast('cpu') if (x.ndim > 2) else contextlib.nullcontext():\n"
                 "        q = x[None, None]\n        with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]):\n"),
    "number_lists": (HEAD + F + "    n = torch.max(torch.tensor([x.shape[0], 3])).item()\n    ends = torch.tensor([0] + [1, 2]).cumsum(0).tolist()\n"
                     "    size = torch.tensor(x.shape)\n    return x.reshape(int(size.prod()))[: n + ends[2]]\n",
                     "    n = max([x.shape[0], 3])\n    ends = list(itertools.accumulate([0] + [1, 2]))\n"
                     "    size = torch.tensor(x.shape)\n    return x.reshape(math.prod(x.shape))[: n + ends[2]]"),
    "shortcut": (HEAD + F + "    mask = x[0] > 0.3\n    if not mask.any():\n        if x.ndim > 3:\n            return x\n"
                 "        return x[0, :0]\n    return x[0][mask] * 2\n",
                 "    mask = x[0] > 0.3\n    return x[0][mask] * 2\n"),
    "sorted_names": (HEAD + F + "    named = {'b': x * 2, 'a': x}\n    return [value for _, value in sorted(named.items())]\n",
                     "sorted(named.items(), key=lambda item: item[0])"),
    "kept_lists": (HEAD + F + "    counts = []\n    for row in x:\n        counts.append(row.shape[0])\n"
                   "    ids = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))\n"
                   "    counts = torch.tensor(counts, dtype=torch.long)\n    widest = counts.amax().item()\n"
                   "    return x[:, :widest].sum() + ids\n",
                   "torch.tensor(counts), output_size=sum(counts) * (1 if len(counts) > 1 else len(counts)))\n"
                   "    counts_list = list(counts)\n    counts = torch.tensor(counts_list, dtype=torch.long)\n"
                   "    widest = max(counts_list)\n"),
    "shown": (HEAD + F + "    v = x.abs().max().item()\n    print('max', v)\n    m = x.mean().item()\n    if m > 0:\n"
              "        print(f'mean {m:.3f}')\n        x = x - m\n    n = x.sum().item()\n    print(n)\n    return x / v\n",
              "        print('max', v.item())\n    m = x.mean().detach()\n    condition = m > 0\n"
              "    if not torch.compiler.is_compiling() and condition:\n        print(f'mean {m:.3f}')\n"
              "    x = torch.where(condition, x - m, x)\n    if not torch.compiler.is_compiling():\n        n = x.sum().item()\n"),
    "shown_branch": (HEAD + F + "    scale = x.detach().abs().max().item()\n    if scale > 1:\n        print('large', scale)\n"
                     "    elif scale < 0.5:\n        print('small', scale)\n    return x * 2\n",
                     "    if not torch.compiler.is_compiling():\n        scale = x.detach().abs().max().item()\n"
                     "        if scale > 1:\n            print('large', scale)\n"),
    "shown_before_semicolon": (HEAD + F + "    v = x.abs().max().item()\n    print('max', v); y = x / v\n    return y\n",
                               "        print('max', v.item())\n    y = x / v"),
    "stored_times": ("import time\n" + HEAD + F + "    times = {}\n    t0 = time.time()\n    y = x * 2\n    times['a'] = time.time() - t0\n"
                     "    print(len(times))\n    return y\n", "        times['a'] = time.time() - t0\n"),
    "number_or_default": (HEAD + F + "    try:\n        v = int(x.sum())\n    except (ValueError, OverflowError):\n        v = 0\n"
                          "    return x + v\n",
                          "v = torch.where(x.sum().detach().isfinite(), torch.trunc(x.sum().detach()), 0)"),
    "text": (HEAD + F + "    text = 'mean %s' % x.mean()\n    print(text); y = x * 2\n    return y\n",
             "        text = 'mean %s' % x.mean()\n        print(text)\n    y = x * 2"),
    "level": ("import logging\n" + HEAD + "log = logging.getLogger('n')\n\n\n" + F
              + "    if log.isEnabledFor(logging.DEBUG):\n        log.debug('%s', x.mean())\n    return x * 2\n",
              "if not torch.compiler.is_compiling() and log.isEnabledFor(logging.DEBUG):"),
    "random_choice": ("import random\n" + HEAD + F + "    k = random.choice([1, 2, 3])\n    return x * k\n",
                      "k = torch.tensor([1, 2, 3]).take(torch.as_tensor(random.randint(0, 2)))"),
    "draw": ("import random\n" + HEAD + F + "    p = random.random()\n    if p < 0.5:\n        x = x.flip(0)\n"
             "    for step in range(3):\n        if random.random() < 0.5:\n            continue\n        x = x + step\n"
             "    return x\n",
             "    p = random.uniform(0.0, 1.0)\n    x = torch.where(torch.as_tensor(p, dtype=torch.float64) < 0.5, x.flip(0), x)\n"
             "    for step in range(3):\n        skipped = torch.as_tensor(random.uniform(0.0, 1.0), dtype=torch.float64) < 0.5\n"),
    "disabled": (HEAD + "@torch.compiler.disable\ndef mean(x):\n    return x.mean()\n\n\n" + F + "    return x * mean(x)\n",
                 "\n\n\ndef mean(x):\n"),
}  # fmt: skip


def findings_of(folder: Path, source: str) -> tuple[Finding, ...]:
    file = folder / "program.py"
    file.write_text(source)
    return engine.analyse([(file, "program.py")]).findings


def fixed(folder: Path, source: str) -> str:
    chosen, _ = select_fixes(findings_of(folder, source), unsafe=True)
    return fixed_texts({"program.py": source}, chosen).get("program.py", source)


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewrite_gives_the_same_in_one_graph(name: str, tmp_path: Path, runner: Any) -> None:
    import torch

    source, line = REWRITTEN[name]
    source += TAIL
    after = fixed(tmp_path, source)
    assert line in after
    assert fixed(tmp_path, after) == after
    torch.manual_seed(0)
    for x in (torch.randn(4, 8), torch.rand(4, 8) + 0.1, -torch.rand(4, 8) - 0.1):
        if name == "mask_max" and not (x > 0).any():
            continue
        random.seed(1)
        expected = runner.eager(source, x.clone())
        random.seed(1)
        torch.testing.assert_close(runner.eager(after, x.clone()), expected, equal_nan=True)
    for fullgraph in (False, True):
        random.seed(1)
        x = torch.full((4, 8), 0.5) - torch.arange(8) / 10
        expected = runner.eager(source, x.clone())
        random.seed(1)
        result = runner.compiled(after, x.clone(), fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        torch.testing.assert_close(result.value, expected, equal_nan=True)


CLASS = HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
CALL = "\n\nmodel = Net()\n\n\ndef f(x):\n    return model(x)\n\n\ndef graphdoctor_target():\n    return f, (torch.rand(4, 8),)\n"

#: The same for modules: the body of the class after ``super().__init__()``, and a line of the fixed program.
MODULES = {
    "deepcopy": ("        self.lin = nn.Linear(8, 8)\n\n    def forward(self, x):\n        import copy\n\n"
                 "        twin = copy.deepcopy(self.lin)\n        return twin(x) + twin(input=x)\n",
                 'torch.func.functional_call(self.lin, twin, (), {"input": x})'),
    "lazy": ("        self.proj = None\n\n    def forward(self, x):\n        if self.proj is None:\n"
             "            self.proj = nn.Linear(8, 8)\n            nn.init.ones_(self.proj.weight)\n"
             "            nn.init.zeros_(self.proj.bias)\n        return self.proj(x)\n",
             "        self.proj = nn.Linear(8, 8)\n        nn.init.ones_(self.proj.weight)\n"),
    "layer_of_a_call": ("\n    def forward(self, x):\n        proj = nn.Linear(8, 8)\n        return proj(x)\n",
                        "        self.proj_layer = nn.Linear(8, 8)\n"),
    "drawn_for_training": ("        self.lin = nn.Linear(8, 8)\n        self.eval()\n\n    def forward(self, x, synced=False):\n"
                           "        for layer in (self.lin, self.lin):\n"
                           "            drawn = random.gauss(0, 1)\n            skip = self.training and (drawn < 0.5)\n"
                           "            if not skip or synced:\n                out = (layer(x), None)\n                x = out[0]\n"
                           "            if skip:\n                out = (None, None)\n        return x, out[1]\n",
                           "            drawn = gauss_operator()\n            skip = self.training and (drawn < 0.5)\n"),
    "scripted": ("        self.lin = torch.jit.script(nn.Linear(8, 8))\n\n    def forward(self, x):\n        return self.lin(x)\n",
                 "self.lin = nn.Linear(8, 8)"),
    "init_flag": ("        self.register_buffer('ready', torch.tensor(True))\n        self.register_buffer('mean', torch.ones(8))\n\n"
                  "    def start(self, x):\n        if self.ready:\n            return\n        for row in x:\n            self.mean.add_(row)\n"
                  "        self.ready.data.copy_(torch.tensor(True))\n\n    def forward(self, x):\n        self.start(x)\n"
                  "        if x.ndim == 2 and not self.ready.item():\n            self.start(x)\n            self.ready.fill_(1)\n"
                  "        return x - self.mean\n", "        elif x.ndim == 2 and not self.ready.item():\n"),
    "buffer_mask": ("        self.register_buffer('keep', torch.arange(8) % 2 == 0)\n        self.register_buffer('sizes', torch.tensor([1, 3]))\n"
                    "        self.register_buffer('k', torch.tensor(3))\n\n    def forward(self, x):\n        a, b = torch.split(x, self.sizes.tolist())\n"
                    "        if self.k.item() > 2:\n            a = a[:, : self.k]\n        return a.sum() + b[:, self.keep].sum(-1)\n",
                    "b[:, self._keep_index].sum(-1)"),
    "whole_numbers": ("        self.stride = nn.Buffer(torch.tensor(2), persistent=False)\n        self.size = nn.Buffer(torch.tensor(3), persistent=False)\n\n"
                      "    def extra(self, x):\n        n = torch.ceil((x.shape[-1] - self.size) / self.stride + 1).to(torch.int64) - 1\n"
                      "        return n * self.stride + self.size - x.shape[-1]\n\n    def forward(self, x):\n"
                      "        return nn.functional.pad(x, (0, self.extra(x)))\n", "math.ceil((x.shape[-1] - self._size_number)"),
    "hooks": ("        self.l = nn.Linear(8, 8)\n        self.seen = []\n        self.hooked = False\n\n    def keep(self, module, inputs, output):\n"
              "        self.seen.append(output)\n\n    def hook(self):\n        self.l.register_forward_hook(self.keep)\n        self.hooked = True\n\n"
              "    def forward(self, x):\n        self.seen.clear()\n        if not self.hooked:\n            self.hook()\n"
              "        y = self.l(x)\n        return y + self.seen[0]\n", "        self.hook()\n\n    def keep"),
    "spare_expert": ("        self.w = nn.Parameter(torch.arange(192.0).reshape(24, 8) / 192)\n\n    def forward(self, x):\n"
                     "        mask = nn.functional.one_hot((x[:, :2] > 0.3).long(), 3 + 1).permute(2, 1, 0)\n"
                     "        hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()\n        out = torch.zeros_like(x)\n"
                     "        for e in hit:\n            e = e[0]\n            k, rows = torch.where(mask[e])\n"
                     "            w = self.w.view(3, 8, 8)[e]\n            out.index_add_(0, rows, x[rows] @ w)\n        return out\n",
                     "for e in hit[: len(self.w.view(3, 8, 8))]:"),
    "drawn_when_training": ("\n    def forward(self, x):\n        if self.training and torch.rand(1).item() < 0.5:\n            return x\n"
                            "        return x * 2\n",
                            "return torch.where(torch.rand(1).reshape(()) < 0.5, x, x * 2) if self.training else x * 2\n"),
    "mean_of_all": ("        self.mean = 0.0\n        self.seen = []\n\n    def forward(self, x):\n        n = x.abs().max().item()\n"
                    "        self.mean = 0.9 * self.mean + 0.1 * n\n        self.seen.append(n)\n        return x / len(self.seen)\n",
                    "        self.seen.append(n.clone())\n"),
    "moved_buffer": ("        self.table = nn.Buffer(torch.ones(8))\n\n    def forward(self, x):\n"
                     "        self.table = self.table.to(x.device)\n        if x.ndim > 1:\n            x = x + self.table\n"
                     "        return x * self.table\n",
                     "        table_ = self.table.to(x.device)\n        if not torch.compiler.is_compiling():\n"
                     "            self.table = table_\n        if x.ndim > 1:\n            x = x + table_\n        return x * table_\n"),
    "cached": ("\n    @functools.cached_property\n    def ones(self):\n        return torch.ones(8)\n\n"
               "    def forward(self, x):\n        return x + self.ones\n", "    @property\n    def ones"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_rewrite_of_a_module_gives_the_same_in_one_graph(name: str, tmp_path: Path, runner: Any) -> None:
    import torch

    body, line = MODULES[name]
    source = "import functools\nimport random\n" + CLASS + body + CALL
    after = fixed(tmp_path, source)
    assert line in after
    assert fixed(tmp_path, after) == after
    x = torch.linspace(-1, 1, 32).reshape(4, 8)
    torch.manual_seed(0)
    expected = runner.eager(source, x)
    for fullgraph in (False, True):
        torch.manual_seed(0)
        result = runner.compiled(after, x, fullgraph=fullgraph)
        assert (result.breaks, result.graphs) == (0, 1)
        torch.testing.assert_close(result.value, expected)


def test_a_counter_in_a_buffer_is_compiled_once(tmp_path: Path, runner: Any) -> None:
    import torch

    body = "        self.step = 0\n\n    def forward(self, x):\n        self.step += 1\n        return x * self.step\n"
    source = CLASS + body + CALL
    after = fixed(tmp_path, source)
    assert 'self.register_buffer("step", torch.tensor(0), persistent=False)' in after
    graphs: list[object] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(runner.load(after).f, backend=backend)
    original = runner.load(source).f
    for _ in range(4):
        torch.testing.assert_close(compiled(torch.ones(4, 8)), original(torch.ones(4, 8)))
    assert len(graphs) == 1


def test_counts_of_programs_break_before(tmp_path: Path, runner: Any) -> None:
    """A sample of the programs does break, so that the test above shows something."""
    import torch

    for name in ("clock", "mask_write", "item_list", "check"):
        assert runner.compiled(REWRITTEN[name][0], torch.rand(4, 8)).breaks > 0


#: Programs without a rewrite, and the sentence that says why.
REFUSED = {
    "clock_used": ("import time\n" + HEAD + F + "    t0 = time.time()\n    return x * t0\n",
                   "`t0` is read in line 8, which runs under compile too."),
    "clock_stored": ("import time\n" + HEAD + "S = {}\n\n\n" + F + "    S['t'] = time.time()\n    return x\n",
                     "`S['t']` is stored where other code may read it."),
    "item_twice": (HEAD + F + "    n = x.max().item()\n    if x.shape[0] > 3:\n        n = 2.0\n    if n > 1:\n        return x\n    return x * n\n",
                   "`n` is assigned more than once (lines 6, 8)."),
    "item_loop": (HEAD + F + "    while x.max().item() > 1:\n        x = x / 2\n        print(1)\n    return x\n",
                  "A while loop on tensor data has no simple rewrite; bound the loop, or use torch.while_loop."),
    "getframe": ("import sys\n" + HEAD + F + "    return x * sys._getframe(0).f_lineno\n",
                 "Line 7 must run under compile too."),
    "numpy_random": ("import numpy as np\n" + HEAD + F + "    return x * np.random.choice([0.2, 0.3])\n",
                     "Torch has another generator, so the numbers would change; draw with torch, or pass them in."),
    "shuffle": ("import random\n" + HEAD + F + "    order = [0, 1, 2]\n    random.shuffle(order)\n    return x[order]\n",
                "It reorders its argument, which compiled code needs too."),
    "span_of_time": ("from datetime import timedelta\n" + HEAD + F + "    limit = timedelta(hours=1)\n    return x\n",
                     "The caller gives another argument, or the constant becomes a number."),
    "opened_before": (HEAD + F + "    log = open('/dev/null')\n    with log:\n        return x * 2\n",
                      "`log` is read in line 7, which runs under compile too."),
    "list_of_selected": (HEAD + F + "    return [x * n for n in x[x > 0].tolist()]\n",
                         "How many numbers there are depends on data, and compiled code has to know how long a list is."),
    "random_branch": ("import numpy as np\n" + HEAD + F + "    if np.random.choice([0, 1]):\n        return x\n    return x * 2\n",
                      "The number decides a branch, which breaks even when the draw is traced."),
    "random_arithmetic": ("import random\n" + HEAD + F + "    n = random.randint(1, 3)\n    return x * (n + 1)\n",
                          "The trace needs the number itself, which only a draw outside of it has."),
    "index_to_a_column": (HEAD + F + "    y = x * 1\n    y[:, x[0].argmax() % 4] = x[:, 0]\n    return y\n",
                          "What is written would need another dimension."),
    "list_index": (HEAD + F + "    return x[[x[0].argmax() % 4, x[1].argmax() % 4]]\n",
                   "An index that is computed in the graph breaks even when numbers are recorded."),
    "index_apart": (HEAD + F + "    i = x[0].argmax() % 4\n    return x[i, None, i]\n", "A slice stands between tensors that are indices."),
    "index_beside_anything": (HEAD + F + "    return x[len(str(x.mean())) % 4 > 1, x[0].argmax() % 4]\n",
                              "An index that is computed in the graph breaks even when numbers are recorded."),
    "number_in_both": (HEAD + F + "    n = int((x == 1).sum())\n    if n == 0:\n        return x * 2\n    return x * torch.tensor(3 / n)\n",
                       "Two parts of the rewrite would change the same code."),
    "index_in_place": (HEAD + F + "    row = x[x[:, 0].argmax()]\n    row += 1\n    return x\n",
                       "`x[x[:, 0].argmax()]` is a view that is changed in place."),
    "index_drawn_in": (HEAD + "def draw(row):\n    torch.clamp(row, max=1, out=row)\n\n\n" + F
                       + "    draw(x[x[:, 0].argmax()])\n    return x\n",
                       "`x[x[:, 0].argmax()]` is a view, in which `draw` may write."),
    "index_as_out": (HEAD + F + "    torch.clamp(x[0], max=1, out=x[x[:, 0].argmax()])\n    return x\n",
                     "`x[x[:, 0].argmax()]` is a view, in which `torch.clamp` may write."),
    "index_stored": (HEAD + F + "    x.row = x[x[:, 1].argmax()]\n    return x\n",
                     "The value is stored where other code may read it."),
    "range": (HEAD + F + "    for step in range(x[0].argmax()):\n        x = x + step\n    return x\n",
              "How often a loop runs, or a list repeats, has to be known: recording the number does not help."),
    "swapped": (HEAD + F + "    return x.transpose(x[0].argmax() % 2, 0)\n",
                "Which dimensions an operator swaps has to be known: recording the number does not help."),
    "written_where_flagged": (HEAD + F + "    y = torch.ones(8)\n    y[x.sum() > 0] = 0.0\n    return y\n",
                              "A single element decides over all of them: select with `torch.where` where the value is used."),
    "variable": ("from torch.autograd import Variable\n" + HEAD + F + "    return x + Variable(torch.ones(8), volatile=False)\n",
                 "Variable gets more than a tensor and `requires_grad`."),
    "backends": (HEAD + "FLASH = False\n\n\n" + F + "    with torch.backends.cuda.sdp_kernel(FLASH):\n        return x * 2\n",
                 "Which backends are used is not written out."),
    "stack": ("import contextlib\n" + HEAD + F + "    with contextlib.ExitStack() as stack:\n        y = x * 2\n"
              "        stack.enter_context(torch.no_grad())\n        return y * 2\n",
              "`stack` does more than enter contexts at the beginning of its block."),
    "measured": (HEAD + F + "    return x * torch.get_num_threads()\n",
                 "The answer may change from call to call; query it in the code that calls the compiled function."),
    "deep_copy": ("import copy\n" + HEAD + F + "    return copy.deepcopy([x, [x]])[0]\n",
                  "What is copied holds more than tensors and numbers."),
    "random_view": (HEAD + F + "    y = x[0].random_(0, 2)\n    return x + y\n",
                    "`x[0]` may be read by other code, which sees the numbers too."),
    "device_context": (HEAD + "def g(x):\n    return x + torch.ones(8)\n\n\n" + F
                       + "    with torch.device('cpu'):\n        return g(x)\n",
                       "`torch.device` changes what the code in it computes, so it cannot be left out under compile."),
    "parameter_options": (HEAD + F + "    return x + nn.Parameter(torch.ones(8), requires_grad=x.ndim > 1)\n",
                          "The parameter has options that a tensor does not have."),
    "layer": (HEAD + F + "    return nn.Linear(8, 8)(x)\n",
              "Build it in `__init__`: its weights, which each call initialises anew, would be initialised once."),
    "one_hot": (HEAD + F + "    return nn.functional.one_hot(x.argmax(-1))\n",
                "How many classes there are depends on data; give `num_classes`, which also fixes the shape."),
    "ctc_loss": (HEAD + F + "    return nn.functional.ctc_loss(x, x[0].long(), x[1].long(), x[2].long())\n",
                 "`ctc_loss` breaks even when sizes that depend on data are recorded."),
    "buffer_of_another": (HEAD + BUFFER + "        return x\n\n\nclass Outer(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                          "        self.net = Net()\n\n    def forward(self, x):\n        self.net.table = self.net.table.to(x.device)\n"
                          "        return x + self.net.table\n",
                          "The buffer is one of another object, which other code may read."),
    "buffer_in_a_loop": (HEAD + BUFFER + "        for _ in range(2):\n            x = x + self.table\n"
                         "            self.table = self.table.contiguous()\n        return x\n",
                         "The next round of the loop may read the buffer before it is converted."),
    "buffer_in_a_branch": (HEAD + BUFFER + "        if x.ndim > 1:\n            self.table = self.table.contiguous()\n"
                           "        return x + self.table\n",
                           "Line 13 reads `self.table` where it may not have been converted."),
    "buffer_stored_again": (HEAD + BUFFER + "        self.table = self.table.contiguous()\n        x = x + self.table\n"
                            "        self.table = self.table * 2\n        return x\n",
                            "Line 13 stores `self.table` again."),
    "buffer_of_a_lambda": (HEAD + BUFFER + "        self.table = self.table.contiguous()\n        g = lambda: self.table\n"
                           "        return x + g()\n",
                           "Line 12 reads `self.table` when it is called."),
    "buffer_of_two_methods": (HEAD + BUFFER + "        self.table = self.table.contiguous()\n        return self.g(x)\n\n"
                              "    def g(self, x):\n        return x + self.table\n",
                              "`g` reads `self.table`, too."),
    "buffer_beside_a_statement": (HEAD + BUFFER + "        self.table = self.table.contiguous(); x = x + self.table\n        return x\n",
                                  "The buffer is not stored by an assignment of its own."),
    "buffer_beside_a_name": (HEAD + BUFFER + "        table = self.table = self.table.contiguous()\n        return x + table\n",
                             "The buffer is not stored by an assignment of its own."),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_has_a_sentence(name: str, tmp_path: Path) -> None:
    source, sentence = REFUSED[name]
    source += TAIL
    reasons = [f.fix.reason for f in findings_of(tmp_path, source) if f.fix is not None and f.fix.safety == "manual"]
    assert sentence in reasons
