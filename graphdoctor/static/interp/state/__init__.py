"""What the interpreter keeps about the code that it has seen, one kind of it in each module.

May import ``syntax`` and ``static.domain``.
"""
