"""The commands, one a file: options in, report out.

May import every package below it.
"""
