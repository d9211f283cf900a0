"""Many lines translated in shards, killed and resumed."""
