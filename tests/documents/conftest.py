"""What the tests of documents share."""


def rewritten(document, texts):
    """A document with these texts in the place of its own, decoded."""
    return b"".join(document.translated(texts)).decode()
