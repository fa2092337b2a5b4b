"""Targets that are named instead of written: ``hf:BertModel``, ``timm:convnext_atto``, ``module:function``.

``targets`` and ``sources`` never import torch; the others build a model in the worker. May import torch, ``config``,
``source`` and ``dynamic.user_code``.
"""
