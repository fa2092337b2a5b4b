"""What calls change at module level is undone."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from types import ModuleType

from graphdoctor.dynamic.numerics.plain_globals import PlainGlobals


def test_counters_flags_and_containers_are_what_they_were() -> None:
    module = ModuleType("model")
    held = {"counts": Counter(a=1), "seen": {"a"}, "log": [1, [2]], "last": deque([1]), "table": defaultdict(list)}
    vars(module).update(held, step=0, told=False, name="a", other=object())
    kept = PlainGlobals([module])
    module.step, module.told, module.name, module.other = 5, True, "b", 3
    module.counts.update("aab")
    module.seen.add("b")
    module.log[1].append(3)
    module.last.append(2)
    module.table["a"].append(1)
    kept.restore()
    assert (module.step, module.told, module.name, module.counts) == (0, False, "a", Counter(a=1))
    assert (module.seen, module.log, module.last, module.table) == ({"a"}, [1, [2]], deque([1]), {})
    assert all(getattr(module, name) is value for name, value in held.items())
    # What is not plain is left alone.
    assert module.other == 3


def test_a_container_that_was_replaced_is_put_back() -> None:
    module = ModuleType("model")
    module.log = log = [1]  # type: ignore[attr-defined]
    kept = PlainGlobals([module])
    module.log = []  # type: ignore[attr-defined]
    log.append(2)
    kept.restore()
    assert module.log is log and log == [1]
