"""Verification: checks of an export in fresh processes."""
