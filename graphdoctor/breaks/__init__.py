"""Graph breaks as Dynamo names them: its registry, messages, guards, and the place in the user's code.

May import ``model`` and ``source``; torch is never imported.
"""
