"""Inference: a trained model with fused weights, as a step with a cache."""
