"""Where a worker crashed, as faulthandler wrote it."""

from __future__ import annotations

import ctypes

from graphdoctor.dynamic.parent.watch import innermost

LIBRARY = f'  File "{ctypes.__file__}", line 519 in string_at'


def test_the_place_is_in_the_users_code_where_some_is_on_the_stack() -> None:
    torch = '  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1789 in _call_impl'
    own = '  File "/home/me/net.py", line 6 in forward'
    head = "Fatal Python error: Segmentation fault"
    thread = "Current thread 0x1 (most recent call first):"
    crash = [head, "", thread, LIBRARY, own, torch, "", "Thread 0x2 (most recent call first):", own]
    assert innermost(crash) == " (at /home/me/net.py:6 in forward)"
    assert innermost([head, "", thread, LIBRARY, torch, "", own]) == f" (at {ctypes.__file__}:519 in string_at)"
    assert innermost([head]) == ""
