"""What a worker process does; `workers` is the other end.

Imports TensorFlow only when its threads can be set.
"""

import os
import pickle
import queue
import signal
import threading
import traceback

from keras_transformer.errors import InputError


def serve(connection, recipe: bytes, threads: int, prepare=None):
    """Translates what comes through a pipe until its other end is closed.

    Says `(number, results, error, compile_seconds)`: once with number None
    when it is ready, then for every `(number, batch)`. After an error it
    ends.

    Args:
        connection: `multiprocessing.connection.Connection`.
        recipe: see `workers.Workers`, pickled.
        threads: that TensorFlow may use.
        prepare: called first, without arguments.
    """
    # Ctrl-C goes to the whole terminal; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    batches = queue.SimpleQueue()
    threading.Thread(
        target=_receive, args=(connection, batches), daemon=True
    ).start()
    number = None
    try:
        if prepare is not None:
            prepare()
        set_threads(threads)
        translate = pickle.loads(recipe)()
        connection.send((None, None, None, 0.0))
        while True:
            number, batch = batches.get()
            results = translate(batch)
            seconds = getattr(translate, "compile_seconds", 0.0)
            connection.send((number, results, None, seconds))
    except BrokenPipeError:
        pass  # The parent has gone.
    except Exception as error:
        connection.send((number, None, _portable(error), 0.0))
    finally:
        connection.close()


def set_threads(threads: int):
    """Lets TensorFlow use so many threads, if it isn't at work already."""
    import tensorflow as tf

    try:
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    except RuntimeError:
        pass  # Threads can't be changed once TensorFlow has begun.


def _receive(connection, batches):
    """Takes in what comes, so that the parent never waits to send.

    Ends the process when the parent has gone, even in the midst of a batch.
    """
    try:
        while True:
            batches.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)


def _portable(error):
    """The error as one that the parent can raise."""
    if isinstance(error, InputError | OSError | MemoryError):
        return error
    if type(error).__name__ == "ResourceExhaustedError":
        return InputError(
            "a translating worker ran out of memory. Try fewer workers or a "
            "smaller batch size"
        )
    text = "".join(traceback.format_exception(error))
    return RuntimeError(f"in a translating worker:\n{text}")
