"""Groups of options that several commands share.

May import every package below it, ``commands.problems`` and ``commands.printing``.
"""
