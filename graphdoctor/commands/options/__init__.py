"""Groups of options that several commands share.

May import every package below it, and ``commands.common``.
"""
