"""Embedded server: loads SavedModels and answers over REST and gRPC."""
