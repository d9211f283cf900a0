"""A paragraph beside its sentences."""
