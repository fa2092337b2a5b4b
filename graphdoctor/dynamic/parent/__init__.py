"""The side that starts, watches and ends the worker. Never imports torch.

May import ``model``, ``breaks``, ``source`` and ``target_torch``.
"""
