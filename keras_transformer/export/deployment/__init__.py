"""Deployment: the files that a server is started with."""
