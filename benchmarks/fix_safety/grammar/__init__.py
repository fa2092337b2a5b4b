"""The grammar: complete small programs, written by a seeded generator to make a fix change what a program does."""
