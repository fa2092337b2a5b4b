"""What the interpreter speaks of: values, the program, events, and tables of facts about torch and Python.

May import ``model``, ``source``, ``syntax`` and ``target_torch``.
"""
