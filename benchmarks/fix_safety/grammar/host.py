"""Work of the host in compiled code: clocks, the environment, files, progress bars, and the names that hold it."""

from __future__ import annotations

from benchmarks.fix_safety.grammar.draft import Draft

_BLOCKS = (
    ["t0 = time.time()", "y = x * 2", "dt = time.time() - t0"], ["t0 = time.perf_counter()", "y = x + 1"],
    ["t0 = time.time()", "y = x * 2", "late = time.time() - t0 > 1e9", "y = (y, late)"],
    ["pid = os.getpid()", "y = x * 2"], ["os.environ['GD_FIX'] = str(x.shape)", "y = x * 2"],
    ["os.environ['GD_FIX'] = '1'", "y = x * len(os.environ['GD_FIX'])"],
    ["name = os.getcwd()", "y = x * (len(name) > 0)"],
    ["known = os.path.exists('/nowhere')", "y = x * 2 if known else x"], ["t = time.time()", "t = x * 2", "y = t"],
    ["t = time.time() * 0", "def inner():", "    return t", "y = x + inner()"],
    ["t = time.time()", "y = (x, 't' in locals())"], ["t = time.time() * 0", "y = x + eval('t')"],
    ["t = COUNTS.append(time.time() * 0)", "y = x"], ["t = time.time()", "del t", "y = x"],
    ["t = time.time()", "{COUNTS}.append(t > 0)", "y = x"], ["t = u = time.time()", "y = x"],
    ["t, u = time.time(), x * 2", "y = u"], ["t, y = time.time(), x * 2"], ["[t] = [time.time()]", "y = x"],
    ["t = time.time(); y = x * 2"], ["t: float = time.time()", "y = x"],
    ["t = time.time()", "t += next({IT})", "y = x"], ["t = time.time() + next({IT})", "y = x"],
    ["t = (time.time(), {COUNTS}.append(1))", "y = x"], ["t = (time.time(), {LOUD}.value)", "y = x"],
    ["if time.time() > 0:", "    x = x + 1", "y = x"], ["t = time.time()", "assert t > 0", "y = x"],
    ["global COUNT", "COUNT = time.time() > 0", "y = x"], ["t = os.getenv('HOME', 'a')", "y = x"],
    ["t = time.time()", "while t < 0:", "    x = x + 1", "y = x"],
    ["t = time.time()", "{LOG}.info('time %s', t > 0)", "y = x"], ["t = time.time()", "print('took', t > 0)", "y = x"],
    ["x.stamp = time.time() > 0", "y = x"], ["{TABLE}['t'] = time.time() > 0", "y = x"],
    ["stamp = {'t': time.time() > 0}", "stamp['u'] = 1", "y = (x, stamp)"],
    ["t = time.time()", "f = lambda: t > 0", "y = (x, f())"],
    ["def inner(t=time.time() > 0):", "    return t", "y = (x, inner())"],
    ["t = time.time()", "y = [t > 0 for _ in range(2)], x"],
    ["with open(os.devnull) as file:", "    text = file.read()", "y = x"],
    ["with open(os.devnull) as file:", "    y = x + len(file.read())"],
    ["os.environ['GD_FIX'] = str(next({IT}))", "y = x"],
    ["os.environ['GD_FIX'] = os.environ.get('GD_FIX', '') + 'a'", "y = x"],
    ["os.environ.setdefault('GD_FIX', '1')", "y = x"], ["os.environ.pop('HOME', None)", "y = x"],
    ["os.putenv('GD_FIX', '1')", "y = x"], ["threads = torch.get_num_threads()", "y = x"],
    ["gen = torch.Generator()", "y = x"], ["torch.manual_seed(3)", "y = x + torch.rand(())"],
    ["seed = torch.initial_seed()", "y = x"],
    ["state = torch.get_rng_state()", "y = x + torch.rand(())", "torch.set_rng_state(state)"],
    ["t = time.time()", "t = t + x.sum()", "y = x"], ["t = time.time()", "x = x * 2 if t else x", "y = x"],
    ["t = time.time()", "t.real", "y = x"], ["for t in [time.time()]:", "    y = x * 2"],
    ["t = time.time()", "y = x", "for t in range(2):", "    y = y + t"], ["_ = time.time()", "y = x"],
    ["t = time.time()", "try:", "    y = x * (t > 0)", "finally:", "    t = 0"],
    ["t0 = time.time()", "y = x.add_(1)", "dt = time.time() - t0"], ["t = [time.time(), x.add_(1)]", "y = x"],
    ["t = time.time() + x.sum()", "y = x"], ["t = {time.time(): next({IT})}", "y = x"],
    ["t = time.time() + float({layer}(x).sum())", "y = x"], ["t = time.time() + random.random()", "y = x"],
    ["t = time.time() + torch.rand(())", "y = x"], ["t = f'{time.time()} {{LOUD}}'", "y = x"],
    ["t = time.time() if {flag} else next({IT})", "y = x"], ["t = (time.time(), x)[1]", "y = t * 2"],
    ["t = max(time.time(), *{IT})", "y = x"], ["t = len([time.time(), {TABLE}['k']])", "y = x"],
    ["t = time.time() and {COUNTS}.append(1)", "y = x"], ["t = time.time()", "t = x + 1 if t < 0 else x", "y = t"],
    ["t = time.time() and x.zero_()", "y = x"], ["t = list({IT}), time.time()", "y = x"],
)  # fmt: skip
_BARS = (
    ["tqdm = lambda items, **options: [1, *items]", "for i in tqdm(range(3)):", "    y = y + i"],
    ["def tqdm(items):", "    {COUNTS}.append(1)", "    return items", "for i in tqdm([1, 2]):", "    y = y + i"],
    ["for i in (bar := tqdm(range(3), disable=True)):", "    y = y + i", "y = (y, bar.n)"],
    ["for i in tqdm(range(3), disable=True):", "    y = y + i", "else:", "    y = y * 2"],
    ["for i in tqdm(y if y.ndim else [1], disable=True):", "    y = y + i"],
    ["for i in tqdm(range(3), disable=True):", "    y = y + i"],
    ["for i in tqdm([1, 2], disable=True):", "    y = y + i"], ["for i in trange(3, disable=True):", "    y = y + i"],
    ["for i in tqdm(iter([1, 2]), disable=True):", "    y = y + i"],
    ["for i in tqdm({IT}, disable=True):", "    y = y + i"],
    ["for i in tqdm({GENERATOR}, disable=True):", "    y = y + i"],
    ["for i in tqdm(iterable=range(3), disable=True):", "    y = y + i"],
    ["for i in tqdm(*[range(3)], disable=True):", "    y = y + i"],
    ["y = y + sum(i for i in tqdm(range(3), disable=True))"], ["y = [y + i for i in tqdm(range(3), disable=True)]"],
    ["for i in tqdm(x, disable=True):", "    y = y + i.sum()"],
    ["for i in tqdm({ITEMS}.pop() and [1], disable=True):", "    y = y + i"],
    ["for i in tqdm(x.add_(1), disable=True):", "    y = y + i.sum()"],
    ["for i in tqdm(range(3), {LOUD}.format(1), disable=True):", "    y = y + i"],
    ["for i in tqdm(range({LOUD}.add(2)), disable=True):", "    y = y + i"],
    ["for i in tqdm(enumerate([1]), disable=True):", "    y = y + i[0]"],
    ["for i in trange(1, 3, disable=True):", "    y = y + i"],
    ["for i in tqdm(range(3), disable=True, initial=next({IT})):", "    y = y + i"],
    ["for i in tqdm((j for j in range(2)), total=2, disable=True):", "    y = y + i"],
    ["for i in trange(*[1, 3], disable=True):", "    y = y + i"],
    ["for i in tqdm(lambda: 3, disable=True) if {flag} else range(2):", "    y = y + i"],
    ["for i in trange(next({IT}), disable=True):", "    y = y + i"],
    ["for k, i in enumerate(tqdm([4, 5], disable=True)):", "    y = y + i * k"],
    ["for k, i in enumerate(tqdm({IT}, disable=True), 1):", "    y = y + i * k"],
    ["for i, k in zip(tqdm(range(3), disable=True), {IT}):", "    y = y + i * k"],
    ["for i, k in zip({GENERATOR}, tqdm(range(3), disable=True)):", "    y = y + i * k"],
    ["y = y + sum(i * k for i, k in zip(tqdm([1, 2], disable=True), [3]))"],
    ["zip = lambda *items: [items]", "for i in zip(tqdm(range(3), disable=True)):", "    y = y + len(i)"],
    ["for i in list(enumerate(tqdm(range(3), disable=True))):", "    y = y + i[0]"],
)  # fmt: skip


def host(draft: Draft) -> tuple[list[str], str]:
    """A clock, the environment or a file."""
    draft.features.add("host")
    lines = draft.pick(_BLOCKS)
    if "COUNTS" in "".join(lines):
        draft.use("COUNTS")
    if "COUNT " in "".join(lines):
        draft.use("COUNT")
    return [draft.fill(line, t="t") for line in lines], "y"


def bar(draft: Draft) -> tuple[list[str], str]:
    """A loop behind a progress bar."""
    draft.features.add("progress bar")
    draft.need("from tqdm import tqdm, trange")
    return ["y = x * 1", *(draft.fill(line) for line in draft.pick(_BARS))], "y"
