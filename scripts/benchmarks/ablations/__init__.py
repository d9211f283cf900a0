"""Variants of a recipe, trained and tabulated."""
