"""Training an imported model further, and its worth."""
