"""Search: beam, greedy and sampling, with constraints and scores."""
