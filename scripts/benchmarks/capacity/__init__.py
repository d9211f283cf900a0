"""How many replicas a rate and a latency need."""
