"""Settings of a project: their files, their values, and whether rules that they name may run.

May import ``model``, ``source`` and ``target_torch``.
"""
