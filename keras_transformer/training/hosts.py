"""Processes that train one model together: Keras' distribution, on JAX.

One process is all there is, unless it joins others before anything is
computed.
"""

import os

import keras


def on_jax() -> bool:
    """Whether JAX is Keras' backend."""
    return keras.backend.backend() == "jax"


def join(detect: bool = False):
    """Joins the other processes; before anything else is computed.

    Args:
        detect: has JAX look for a cluster that it knows by itself: Slurm, Open
            MPI, Kubernetes, Cloud TPU. Otherwise the processes are those that
            `keras.distribution.initialize` reads from the environment.
    """
    if not on_jax():
        return
    import jax

    if os.environ.get("KERAS_DISTRIBUTION_NUM_PROCESSES"):
        keras.distribution.initialize()
    elif detect:
        jax.distributed.initialize()
    if jax.device_count() > 1:
        keras.distribution.set_distribution(
            keras.distribution.DataParallel(auto_shard_dataset=False)
        )


def count() -> int:
    """How many processes train together."""
    if not on_jax():
        return 1
    import jax

    return jax.process_count()


def index() -> int:
    """The number of this process, 0 the first."""
    if not on_jax():
        return 0
    import jax

    return jax.process_index()


def replicas() -> int:
    """Devices that share a batch, those of all processes."""
    distribution = keras.distribution.distribution()
    return 1 if distribution is None else distribution.num_model_replicas


def is_chief() -> bool:
    """Whether this process writes the run's files."""
    return index() == 0


def wait(name: str):
    """Waits until all processes are here."""
    if count() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)


def synchronized(model):
    """The model, its variables holding what the steps so far have made."""
    # Keras on JAX takes the variables' values away while `fit` runs.
    sync = getattr(model, "jax_state_sync", None)
    if sync is not None:
        sync()
    return model
