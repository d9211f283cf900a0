"""The interface that every tokenizer has, and its folder on disk."""

import hashlib
import json
import os
import tempfile

import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.errors import InputError
from keras_transformer.text.normalization import Normalizer

# How an unknown token is shown: DOUBLE QUESTION MARK, as in SentencePiece.
UNKNOWN = "⁇"

_DESCRIPTION = "tokenizer.json"
_FORMAT = 1
_KINDS = {}


class Tokenizer(tf.Module):
    """Text to ids and back, in graph code.

    Everything is made of core TensorFlow and TF Text operations, so a
    tokenizer works in `tf.data`, in a `tf.function` and, as an attribute of
    an exported `tf.Module`, in TensorFlow Serving.

    A subclass names its `kind` and `content_file`, and provides `_encode`,
    `_decode`, `tokens`, `options`, `_content` and `_from_content`.

    Args:
        nfc, remove_control, simplify: see `Normalizer`.
    """

    kind = None
    content_file = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.kind:
            _KINDS[cls.kind] = cls

    def __init__(self, *, nfc=True, remove_control=True, simplify=False):
        super().__init__()
        self.normalizer = Normalizer(
            nfc=nfc, remove_control=remove_control, simplify=simplify
        )

    def tokenize(self, strings):
        """The ids of each string, without start and end.

        Args:
            strings: string tensor `[B]`, any bytes.

        Returns:
            RaggedTensor int32 `[B, None]`.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        return self._encode(self.normalizer(strings))

    def detokenize(self, ids):
        """The text of each row of ids.

        Args:
            ids: RaggedTensor or dense integer tensor `[B, T]`. PAD and START
                are skipped; END ends the row.

        Returns:
            string tensor `[B]`. An unknown token is shown as `⁇`.
        """
        return self._decode(_before_end(ids))

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, the four reserved ones included."""
        raise NotImplementedError

    def tokens(self) -> list[str]:
        """All tokens in the order of their ids."""
        raise NotImplementedError

    def options(self) -> dict:
        """What the constructor was told, apart from the vocabulary."""
        return {
            "nfc": self.normalizer.nfc,
            "remove_control": self.normalizer.remove_control,
            "simplify": self.normalizer.simplify,
        }

    def fingerprint(self) -> str:
        """SHA-256 of what `save` writes: equal for equal tokenizers."""
        return hashlib.sha256(self._description()).hexdigest()

    def save(self, folder) -> None:
        """Writes the tokenizer to `folder` as plain files.

        Raises:
            InputError: the folder can't be written.
        """
        try:
            os.makedirs(folder, exist_ok=True)
            # The description goes last: it vouches for the other file.
            for name, content in (
                (self.content_file, self._content()),
                (_DESCRIPTION, self._description()),
            ):
                _write(os.path.join(folder, name), content)
        except OSError as error:
            raise InputError(
                f"{folder}: can't write the tokenizer ({error.strerror})"
            ) from None

    def _description(self) -> bytes:
        content = self._content()
        description = {
            "format": _FORMAT,
            "kind": self.kind,
            "vocabulary_size": self.vocabulary_size,
            "options": self.options(),
            "file": self.content_file,
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        return (json.dumps(description, indent=2) + "\n").encode()

    def _encode(self, strings):
        """Normalised strings `[B]` to ragged int32 ids `[B, None]`."""
        raise NotImplementedError

    def _decode(self, ids):
        """Ragged int32 ids `[B, None]`, PAD, START, END gone, to `[B]`."""
        raise NotImplementedError

    def _content(self) -> bytes:
        """What `content_file` holds."""
        raise NotImplementedError

    @classmethod
    def _from_content(cls, content: bytes, path: str, options: dict):
        """The tokenizer that `_content` and `options` describe.

        Raises:
            InputError: naming `path`, where the content is damaged.
        """
        raise NotImplementedError


def load_tokenizer(folder) -> Tokenizer:
    """The tokenizer that was saved in `folder`.

    Raises:
        InputError: there is none, or its files are damaged or don't belong
            together; the message names the file.
    """
    path = os.path.join(folder, _DESCRIPTION)
    description = _read_description(path)
    kind = _KINDS[description["kind"]]
    content_path = os.path.join(folder, kind.content_file)
    content = _read(content_path)
    if hashlib.sha256(content).hexdigest() != description["sha256"]:
        raise InputError(
            f"{content_path}: not the file that {path} describes (its SHA-256 "
            "differs). Accepted: a tokenizer folder as it was saved"
        )
    try:
        tokenizer = kind._from_content(
            content, content_path, description["options"]
        )
    except TypeError:
        raise InputError(
            f"{path}: options that a {kind.kind} tokenizer doesn't have. "
            f"Received: {description['options']!r}"
        ) from None
    if tokenizer.vocabulary_size != description["vocabulary_size"]:
        raise InputError(
            f"{path}: vocabulary_size is {description['vocabulary_size']}, but "
            f"{content_path} has {tokenizer.vocabulary_size} tokens"
        )
    return tokenizer


def _read_description(path):
    content = _read(path)
    try:
        description = json.loads(content)
    except ValueError:  # not JSON, or not UTF-8
        raise InputError(
            f"{path}: damaged. Accepted: the JSON of a saved tokenizer"
        ) from None
    wanted = {
        "format": int,
        "kind": str,
        "vocabulary_size": int,
        "options": dict,
        "sha256": str,
    }
    if not isinstance(description, dict) or any(
        not isinstance(description.get(key), type_)
        for key, type_ in wanted.items()
    ):
        raise InputError(
            f"{path}: not the description of a tokenizer. "
            f"Accepted: a JSON object with {', '.join(wanted)}"
        )
    if description["format"] != _FORMAT:
        raise InputError(
            f"{path}: format {description['format']}. "
            f"Accepted by this version: {_FORMAT}"
        )
    if description["kind"] not in _KINDS:
        raise InputError(
            f"{path}: unknown kind {description['kind']!r}. "
            f"Accepted: {', '.join(_KINDS)}"
        )
    return description


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}. Accepted: a folder that a tokenizer "
            "was saved to"
        ) from None


def _write(path, content):
    """Writes beside `path`, then renames: never a half-written file."""
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(dir=folder or ".", prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _before_end(ids):
    """Rows of ids without PAD and START, cut before the first END."""
    if isinstance(ids, tf.RaggedTensor):
        ids = ids.to_tensor(PAD_ID)
    ids = tf.cast(ids, tf.int32)
    ends = tf.cumsum(tf.cast(ids == END_ID, tf.int32), axis=1)  # [B, T]
    keep = (ends == 0) & (ids != PAD_ID) & (ids != START_ID)
    return tf.ragged.boolean_mask(ids, keep)
