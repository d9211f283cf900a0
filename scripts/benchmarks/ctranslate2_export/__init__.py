"""A run beside its own exports for CTranslate2."""
