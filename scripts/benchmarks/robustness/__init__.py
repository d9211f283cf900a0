"""Models on text that is changed as people's text differs."""
