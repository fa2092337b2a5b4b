"""``TORCH_TRACE`` folders of any number of ranks, as a diagnosis, in bounded memory.

May import ``scan``, ``static``, ``report``, ``diagnosis``, ``breaks``, ``model``, ``source``, ``target_torch`` and
``interrupt``; never torch.
"""
