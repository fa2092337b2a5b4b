"""Planted miscompilations: is each found by the right oracle, and does its script show it?"""
