"""Translation of texts: tokenizers, model and search together."""
