"""Proofs that a rewrite changes nothing in eager, whatever the inputs: values, dtypes, shapes, gradients, aliasing.

What is proved here may be called safe. Imports the interpreter's values and the editor; knows no single rewrite.
"""
