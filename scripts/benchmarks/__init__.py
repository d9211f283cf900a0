"""Benchmarks of training, decoding, serving and recipes beside their peers."""
