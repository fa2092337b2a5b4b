"""What a rewrite has to know of the code around it: types from the interpreter, effects, uses.

May import ``model``, ``syntax``, ``static``, ``fixes.core`` and ``fixes.branches``.
"""
