"""Training on a GPU that is at hand for minutes."""
