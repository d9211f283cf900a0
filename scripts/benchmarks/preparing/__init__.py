"""Preparing a corpus of any size."""
