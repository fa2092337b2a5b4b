"""Reports: one package for each format, and the wording that they share.

May import ``diagnosis``, ``lint``, ``bench``, ``breaks``, ``model`` and ``source``; all are made from one frozen
diagnosis.
"""
