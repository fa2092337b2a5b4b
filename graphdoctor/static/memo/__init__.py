"""Results of calls, kept and replayed, so that a function is interpreted once for each kind of arguments.

May import ``static.domain``.
"""
