"""Tools for corpora, documentation and the lock."""
