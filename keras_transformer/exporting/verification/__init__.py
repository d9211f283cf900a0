"""Verification: checks of an export in processes of their own."""
