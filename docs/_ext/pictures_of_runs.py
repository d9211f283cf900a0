"""Pictures that need a trained model."""

PICTURES = {}
