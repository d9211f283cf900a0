"""Decoding beside CTranslate2."""
