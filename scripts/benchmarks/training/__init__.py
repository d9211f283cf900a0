"""Training beside OpenNMT-tf."""
