"""Where to put torch.compile in a model, from a run that counts compilations.

May import ``bench``, ``dynamic``, ``breaks``, ``model`` and ``source``.
"""
