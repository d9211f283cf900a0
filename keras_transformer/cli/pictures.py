"""Draws each kind of picture from the arguments of `keras-transformer plot`."""

from keras_transformer.errors import InputError

# A pair for the masks where no run tokenizes one, padded as in a batch.
_SOURCE = "<s> where is the station ? </s> <pad> <pad>".split()
_TARGET = "<s> 车 站 在 哪 里 ？ <pad>".split()
# Padding shown behind the sentences of a run.
_PADDING = ["<pad>"] * 2


def positions(name):
    """A function that draws by `plots.NAME`, a run's encodings if given."""

    def draw(arguments):
        from keras_transformer import plots

        plot = getattr(plots, name)
        if not arguments.run:
            return plot(language=arguments.language)
        run, model = _run_and_model(arguments)
        layers = {layer.name: layer for layer in model.layers}
        shared = layers.get("shared_embedding")
        table = (shared or layers["source_embedding"]).position_table()
        d_model = run.config.model.d_model
        return plot(d_model=d_model, table=table, language=arguments.language)

    return draw


def masks(arguments):
    """The masks of a fixed pair, or of a run's sentence and translation."""
    from keras_transformer.plots import plot_masks

    source, target = _SOURCE, _TARGET
    if arguments.run:
        found = _attention_of(arguments)
        source = [*found.source_tokens, *_PADDING]
        target = [*found.input_tokens, *_PADDING]
    return plot_masks(source, target, language=arguments.language)


def smoothing_table(arguments):
    """With the smoothing of a run, or 0.1."""
    from keras_transformer.plots import plot_smoothing_table

    smoothing = 0.1
    if arguments.run:
        smoothing = _runs(arguments)[0].config.training.label_smoothing
    return plot_smoothing_table(smoothing, language=arguments.language)


def learning_rates(arguments):
    """The rates that runs were configured with, or the paper's."""
    from keras_transformer.plots import plot_learning_rates
    from keras_transformer.training.compiling import schedule

    if not arguments.run:
        return plot_learning_rates(language=arguments.language)
    schedules = [
        schedule(run.config.training, run.config.model.d_model)
        for run in _runs(arguments)
    ]
    return plot_learning_rates(
        [(s.d_model, s.warmup_steps, s.factor) for s in schedules],
        num_steps=5 * max(s.warmup_steps for s in schedules),
        language=arguments.language,
    )


def training_curves(arguments):
    """The history of a run."""
    from keras_transformer.plots import plot_training_curves

    (run,) = _runs(arguments)
    try:
        return plot_training_curves(run.history(), language=arguments.language)
    except InputError as error:
        raise InputError(f"{run.folder}: {error}") from None


def attention(part):
    """A function that draws the "encoder", "decoder" or "cross" part."""

    def draw(arguments):
        from keras_transformer.plots import plot_attention

        found = _attention_of(arguments)
        rows, columns = {
            "encoder": (found.source_tokens, found.source_tokens),
            "decoder": (found.input_tokens, found.input_tokens),
            "cross": (found.output_tokens, found.source_tokens),
        }[part]
        written = ": token being written" if part == "cross" else ": token"
        return plot_attention(
            getattr(found, part),
            rows,
            columns,
            layers=arguments.layer,
            row_label=f"Query{written}",
            language=arguments.language,
        )

    return draw


def lengths(arguments):
    """Of the training split."""
    from keras_transformer.plots import plot_lengths

    lengths = _prepared(arguments).lengths("train")
    return plot_lengths(lengths, language=arguments.language)


def padding_share(arguments):
    """Of the training split, cut into batches in several ways."""
    from keras_transformer.plots import padding_shares, plot_padding_share

    shares = padding_shares(_prepared(arguments).lengths("train"))
    return plot_padding_share(shares, language=arguments.language)


def beam_tree(arguments):
    """The search for one sentence."""
    from keras_transformer.plots import plot_beam_tree, sentence_beam_tree

    run, model = _run_and_model(arguments)
    decoding = _decoding(run, arguments)
    tree = sentence_beam_tree(run, model, arguments.text, decoding)
    return plot_beam_tree(tree, language=arguments.language)


def runs_compared(arguments):
    """What runs say of themselves."""
    from keras_transformer.plots import plot_runs, run_row

    # By path where folders of the same name are compared.
    runs = _runs(arguments)
    names = [run.folder.name for run in runs]
    alike = len(set(names)) < len(names)
    rows = [run_row(run, str(run.folder) if alike else None) for run in runs]
    return plot_runs(rows, language=arguments.language)


def _runs(arguments):
    from keras_transformer.training.run import Run

    return [Run.load(folder) for folder in arguments.run]


def _run_and_model(arguments):
    (run,) = _runs(arguments)
    return run, run.load_model(arguments.weights or "best")


def _attention_of(arguments):
    from keras_transformer.plots import sentence_attention

    run, model = _run_and_model(arguments)
    return sentence_attention(
        run,
        model,
        arguments.text,
        arguments.translation,
        _decoding(run, arguments),
    )


def _decoding(run, arguments):
    if arguments.beam_size is None:
        return run.config.decoding
    values = {"decoding": {"beam_size": arguments.beam_size}}
    return run.config.updated(values, "--beam-size").decoding


def _prepared(arguments):
    from keras_transformer.data.prepared import PreparedData

    return PreparedData.load(arguments.data)
