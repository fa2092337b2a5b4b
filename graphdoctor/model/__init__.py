"""The data that passes between the parts: frozen dataclasses, and nothing else.

Imports nothing of graphdoctor.
"""
