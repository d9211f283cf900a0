"""New folders that appear whole or not at all."""

import contextlib
import errno
import os
import pathlib
import shutil
import uuid
from collections.abc import Iterator

import tensorflow as tf

from keras_transformer.errors import InputError


@contextlib.contextmanager
def new_folder(out: str | os.PathLike) -> Iterator[pathlib.Path]:
    """A temporary folder that becomes `out` when the block ends well.

    It stands beside `out`, so that the renaming is one step; when the block
    ends with an error it is removed, and `out` is as it was.

    Raises:
        InputError: `out` exists and isn't an empty folder, can't be written,
            or the disk is full.
    """
    check_free(out)
    out = pathlib.Path(os.path.realpath(out))
    temporary = out.parent / f".{out.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        os.replace(temporary, out)
    except (OSError, tf.errors.OpError) as error:
        # TensorFlow's writers have errors of their own for the same causes.
        raise InputError(f"{out}: {_reason(error)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_free(out: str | os.PathLike):
    """Refuses a goal that holds something already.

    Raises:
        InputError: `out` is a file, or a folder that isn't empty.
    """
    out = pathlib.Path(out)
    try:
        taken = os.path.lexists(out) and any(out.iterdir())
    except OSError as error:
        raise InputError(
            f"{out}: {error.strerror}. Accepted: a new or empty folder"
        ) from None
    if taken:
        raise InputError(
            f"{out} exists and isn't empty. Accepted: a new or empty folder"
        )


def _reason(error):
    if isinstance(error, tf.errors.OpError):
        full = isinstance(error, tf.errors.ResourceExhaustedError)
        problem = error.message
    else:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        problem = error.strerror or str(error)
    if full:
        return "the disk is full; nothing was written there"
    return f"can't be written ({problem})"
