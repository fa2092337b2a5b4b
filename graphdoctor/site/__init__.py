"""The rules and the graph breaks as web pages, and the rules as JSON.

May import ``report``, ``lint`` and ``breaks``.
"""
