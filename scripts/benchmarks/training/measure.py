"""One measurement of `scripts/benchmarks/training`, in a process of its own."""

import dataclasses
import multiprocessing
import resource
import statistics
import time

import numpy as np

from scripts.benchmarks.command import run_peer

_MATRIX = 2048  # rows and columns of the product that the machine is rated by


@dataclasses.dataclass(frozen=True)
class Setting:
    """How a model is trained.

    Attributes:
        precision: "float32", "mixed_bfloat16" or "mixed_float16".
        threads: parts of a batch side by side; 1: one operation after
            another in all threads.
    """

    precision: str
    threads: int

    def __str__(self):
        return f"{self.precision}, {self.threads} side by side"


def in_process(function, *arguments):
    """What a function returns in a process of its own, memory included."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        raise SystemExit(f"{function.__name__} failed") from None
    process.join()
    return result


def _send(sender, function, arguments):
    result = function(*arguments)
    sender.send({"peak_memory_mib": _peak_memory(), **result})


def _peak_memory():
    """MiB of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(setting: Setting, run_folder, data_folder, warm_up, steps) -> dict:
    """Trains so many steps, after others to warm up.

    Tokens are counted as OpenNMT-tf counts them: the source's without START
    and END, the target's with END; padding never.
    """
    from keras_transformer.system.machine import use_threads

    use_threads(setting.threads)
    model, batches = _prepared(setting, run_folder, data_folder)
    dataset = batches.dataset.repeat()
    # Steps take TensorFlow's iterator, as in `fit`: shapes are then no part
    # of the graph, which is traced once.
    iterator = iter(dataset)
    _train(model, iterator, warm_up)
    started, used = time.perf_counter(), time.process_time()
    _train(model, iterator, steps)
    seconds = time.perf_counter() - started
    processor_seconds = time.process_time() - used
    # Before what only measuring needs takes more.
    peak_memory = _peak_memory()
    drawn = iter(dataset.take(warm_up + steps))
    for _ in range(warm_up):
        next(drawn)
    started = time.perf_counter()
    trained_on = list(drawn)
    input_seconds = time.perf_counter() - started
    tokens = arithmetic = 0
    for features, _ in trained_on:
        source, target = (
            np.count_nonzero(features[name], axis=1)
            for name in ("source_ids", "target_ids")
        )
        tokens += int(source.sum() + target.sum()) - 2 * len(source)
        arithmetic += flops(model, source, target)
    return {
        "tokens_per_second": tokens / seconds,
        "tokens_per_processor_second": tokens / processor_seconds,
        "steps_per_second": steps / seconds,
        "tokens_per_step": tokens / steps,
        # Batches are made while others are trained on.
        "input_share": input_seconds / seconds,
        "gflops": arithmetic / seconds / 1e9,
        "peak_memory_mib": peak_memory,
        "step_ms": _breakdown(model, trained_on[: min(steps, 12)]),
    }


def _train(model, iterator, steps):
    """Steps, all of which have ended."""
    logs = {}
    for _ in range(steps):
        logs = model.train_function(iterator)
    for value in logs.values():
        float(value)


def _prepared(setting, run_folder, data_folder):
    """The model, compiled, and its batches."""
    from keras_transformer.data.batching import TrainingBatches
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.compiling import compile_model
    from keras_transformer.training.run import Run

    run = Run.load(run_folder)
    run.config = run.config.updated(
        {"training": {"precision": setting.precision}}
    )
    training = run.config.training
    model = run.build_model(micro_batches=setting.threads)
    compile_model(model, training, run.config.model.d_model)
    model.make_train_function()
    batches = TrainingBatches(
        PreparedData.load(data_folder),
        batch_tokens=training.batch_tokens,
        batch_sentences=training.batch_sentences,
        seed=training.seed,
    )
    return model, batches


def _breakdown(model, batches):
    """Milliseconds of a step by its parts, medians over batches."""
    import tensorflow as tf

    weights = model.trainable_weights

    def loss_of(features, labels):
        logits = model(features, training=True)
        return model.compute_loss(y=labels, y_pred=logits)

    any_shape = tf.TensorSpec([None, None], tf.int32)
    signature = dict.fromkeys(batches[0][0], any_shape), any_shape

    @tf.function(input_signature=signature)
    def forward(features, labels):
        return loss_of(features, labels)

    @tf.function(input_signature=signature)
    def gradients(features, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(features, labels)
        tensors = tape.gradient(loss, [w.value for w in weights])
        # Reading them all keeps TensorFlow from leaving any out.
        return tf.add_n([tf.reduce_sum(gradient) for gradient in tensors])

    def timed(function):
        for batch in batches:
            function(*batch)
        return statistics.median(
            _seconds(lambda batch=batch: function(*batch).numpy())
            for batch in batches
        )

    iterator = iter(_again(batches))
    _train(model, iterator, len(batches))
    step = statistics.median(
        _seconds(lambda: _train(model, iterator, 1)) for _ in batches
    )
    ahead, both = timed(forward), timed(gradients)
    return {
        "forward": round(1e3 * ahead, 1),
        "backward": round(1e3 * (both - ahead), 1),
        "update_and_metrics": round(1e3 * (step - both), 1),
        "all": round(1e3 * step, 1),
    }


def _again(batches):
    """The batches over and over, of no shape that is known before."""
    import tensorflow as tf

    features, _ = batches[0]
    any_shape = tf.TensorSpec([None, None], tf.int32)
    signature = dict.fromkeys(features, any_shape), any_shape
    dataset = tf.data.Dataset.from_generator(
        lambda: batches, output_signature=signature
    )
    return dataset.repeat()


def _seconds(function):
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def flops(model, source, target) -> int:
    """Operations of the matrix products of a step, padding left out.

    A multiplication and an addition count as two; the backward pass is twice
    the forward pass.

    Args:
        model: `Transformer`.
        source, target: lengths of each sentence, int `(B,)`.
    """
    layers = {layer.name: layer for layer in model.layers}
    encoder = sum(name.startswith("encoder_layer_") for name in layers)
    decoder = sum(name.startswith("decoder_layer_") for name in layers)
    layer = layers["decoder_layer_0"]
    width, inner = layer.d_model, layer.d_ff
    source, target = source.astype("int64"), target.astype("int64")
    by_source = encoder * (4 * width**2 + 2 * width * inner)
    by_source += decoder * 2 * width**2  # keys and values for the decoder
    by_target = decoder * (6 * width**2 + 2 * width * inner)
    by_target += width * model.output_shape[-1]
    products = by_source * source.sum() + by_target * target.sum()
    products += 2 * width * encoder * (source**2).sum()
    products += 2 * width * decoder * (target**2 + target * source).sum()
    return 3 * 2 * int(products)


def matrix_rate() -> dict:
    """The machine's own large product, GFLOP a second by precision."""
    import tensorflow as tf

    rates = {}
    for name in ("float32", "bfloat16"):
        a = tf.cast(tf.random.normal([_MATRIX, _MATRIX]), name)
        product = tf.function(lambda a=a: tf.matmul(a, a))
        product()
        best = min(
            _seconds(lambda run=product: run().numpy()) for _ in range(9)
        )
        rates[name] = 2 * _MATRIX**3 / best / 1e9
    return rates


def dev_loss(setting: Setting, run_folder, data_folder, scratch) -> dict:
    """Cross-entropy per token on the dev split after an epoch."""
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.system.machine import use_threads
    from keras_transformer.training.fit import fit
    from keras_transformer.training.run import Run

    use_threads(setting.threads)
    data = PreparedData.load(data_folder)
    config = Run.load(run_folder).config.updated(
        {
            "training": {
                "precision": setting.precision,
                "threads": setting.threads,
                "epochs": 1,
            }
        }
    )
    folder = f"{scratch}/{setting.precision}-{setting.threads}"
    run = Run.create(folder, config, data)
    fit(run, data)
    (epoch,) = run.history()
    return {"dev_loss": epoch["val_cross_entropy"], "seconds": epoch["seconds"]}


def measure_peer(script, folder, steps: int) -> dict:
    """One run of OpenNMT-tf: its rate and peak memory.

    To be called in a process of its own, whose children it alone starts.
    """
    last = run_peer(script, "train", "--data", folder, "--steps", steps)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "tokens_per_second": last["tokens_per_s_median"],
        "peer_memory_mib": memory,
    }
