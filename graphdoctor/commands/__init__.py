"""The commands, one a file: options in, report out."""
