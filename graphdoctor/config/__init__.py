"""Settings of a project: where they stand, what they say, and whether rules that they name may run.

May import ``model``, ``source`` and ``target_torch``.
"""
