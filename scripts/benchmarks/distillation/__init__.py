"""Distillation and its worth."""
