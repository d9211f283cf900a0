"""Data: cleans, splits and encodes corpora, and makes batches of ids."""
