"""The texts of ``graphdoctor explain`` and ``graphdoctor rules``.

May import ``breaks``, ``lint`` and the modules of ``report`` itself.
"""
