"""What the tests of documents share."""

from keras_transformer.documents.formats import format_of, open_document


def read(tmp_path, name, content, **options):
    """The document of a new file of a name and a content, text or bytes."""
    path = tmp_path / name
    path.write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    return open_document(path, format_of(path), **options)


def rewritten(document, texts):
    """A document with these texts in the place of its own, decoded."""
    return b"".join(document.translated(texts)).decode()
