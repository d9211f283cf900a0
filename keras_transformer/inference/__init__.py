"""Inference: the trained model, its weights fused, as a step with a cache."""
