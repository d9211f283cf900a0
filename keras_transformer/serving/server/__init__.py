"""Embedded server: loads exported models and answers over REST and gRPC."""
