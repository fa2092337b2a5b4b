"""Rules over events: which there are, how they are called, and the findings of a file.

May import ``static``, ``fixes``, ``breaks``, ``config``, ``model``, ``source``, ``syntax`` and ``target_torch``.
"""
