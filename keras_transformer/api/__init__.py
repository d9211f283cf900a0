"""Functions for Python programs and the command line: train, load, export."""
