"""Dirt of corpora, and what the filters of `prepare` find of it."""
