"""The worker process: what it does with a request, and the steps of a run.

May import torch, ``model``, ``breaks``, ``source``, ``syntax`` and the other packages of ``dynamic``.
"""
