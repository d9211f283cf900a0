"""How quality grows with the number of pairs."""
