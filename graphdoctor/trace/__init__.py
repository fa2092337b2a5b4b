"""``TORCH_TRACE`` folders of any number of ranks, as a diagnosis, in bounded memory.

May import ``api``, ``scan``, ``report``, ``diagnosis``, ``breaks``, ``model`` and ``source``; torch is never imported.
"""
