"""Edits of a file: made, applied, shown as a diff, written.

May import ``model``, ``source``, ``syntax``, ``static`` and ``target_torch``.
"""
