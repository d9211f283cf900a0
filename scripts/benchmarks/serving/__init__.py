"""The embedded server under load."""
