"""Graph breaks as Dynamo names them: its registry, messages, guards, and the place in the user's code.

May import ``model``, ``source`` and ``target_torch``; torch is never imported.
"""
