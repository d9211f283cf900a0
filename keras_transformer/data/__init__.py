"""Data: corpora cleaned, split, encoded, and cut into batches of ids."""
