"""How many threads TensorFlow trains with."""

from keras_transformer.machine import spare_memory


def use_threads(parts: int) -> bool:
    """Gives each part of a batch that is computed side by side one thread.

    The threads share one pool of memory. To be called before TensorFlow's
    first operation.

    Args:
        parts: see `TrainingConfig.threads`; 1: operations keep all threads.

    Returns:
        whether it could still be changed.
    """
    import tensorflow as tf

    spare_memory()
    if parts > 1:
        try:
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(parts)
        except RuntimeError:  # It has begun already.
            return False
    return True
