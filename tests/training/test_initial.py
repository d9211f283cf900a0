"""Runs that start from the weights of another."""

import numpy as np
import pytest

from keras_transformer.data.batching import evaluation_batches
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from keras_transformer.evaluation.run_evaluation import cross_entropy
from keras_transformer.training.checkpoint import Interrupted
from keras_transformer.training.fit import fit
from keras_transformer.training.observer import Observer
from keras_transformer.training.run import Run
from tests.toy_models import (
    Recorder,
    assert_same_weights,
    difference,
    fit_in_two_parts,
    weights_of,
)
from tests.word_data import word_data


class First(Observer):
    """Keeps the weights that training starts from."""

    def initial(self, scores):
        self.loss = scores["cross_entropy"]

    def start(self, model, batches):
        self.weights = weights_of(model)


class OnlyFirst(First):
    """Goes no further."""

    def start(self, model, batches):
        super().start(model, batches)
        raise Interrupted


@pytest.fixture(scope="module")
def parent(new_run):
    run = new_run()
    model = run.build_model()
    run.save_weights(model, "last", 2, {})
    model.set_weights([weight + 0.01 for weight in weights_of(model)])
    run.save_weights(model, "best", 1, {"val_cross_entropy": 2.0})
    return run


def test_training_starts_from_the_best_weights(parent, prepared, new_run):
    run = new_run(
        parent,
        model={"dropout": 0.3, "max_length": 30},
        training={"epochs": 1, "seed": 7},
    )
    first = OnlyFirst()
    with pytest.raises(Interrupted):
        fit(run, prepared, observer=first)
    model = parent.load_model("best")
    dev = evaluation_batches(prepared, "dev", batch_tokens=200)
    assert first.loss == pytest.approx(cross_entropy(model, dev)[0], rel=1e-3)
    best = weights_of(model)
    assert difference(first.weights, best) == 0
    assert difference(first.weights, weights_of(parent.load_model("last"))) > 0
    manifest = Run.load(run.folder).manifest
    assert manifest["initial"]["run"] == str(parent.folder)
    assert manifest["initial"]["id"] == parent.id
    assert manifest["initial"]["weights"] == "best"
    assert manifest["initial"]["epoch"] == 1
    assert len(manifest["initial"]["sha256"]) == 64


def of_depths(encoder, decoder):
    return {"num_encoder_layers": encoder, "num_decoder_layers": decoder}


@pytest.fixture(scope="module")
def deep(new_run):
    """A run whose layers all differ."""
    run = new_run(model=of_depths(2, 3))
    model = run.build_model()
    random = np.random.default_rng(1)
    model.set_weights(
        [w + random.normal(0, 0.1, w.shape) for w in weights_of(model)]
    )
    run.save_weights(model, "best", 1, {})
    return run


@pytest.fixture(scope="module")
def deep_model(deep):
    """Only to be read."""
    return deep.load_model()


def by_path(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def logits(model):
    ids = np.array([[2, 5, 6, 3, 0], [2, 7, 3, 0, 0]], "int32")
    inputs = {"source_ids": ids, "target_ids": ids[:, :4]}
    return model(inputs, training=False)


def test_a_deeper_model_begins_as_the_one_that_it_is_made_of(
    deep, deep_model, new_run
):
    run = new_run(deep, model=of_depths(5, 4))
    model = run.load_model("initial")
    np.testing.assert_allclose(logits(model), logits(deep_model), atol=1e-5)
    named, old = by_path(model), by_path(deep_model)
    kernel = "encoder_layer_{}/self_attention/query/kernel"
    ours = [named[kernel.format(i)] for i in range(5)]
    firsts = [np.array_equal(w, old[kernel.format(0)]) for w in ours]
    lasts = [np.array_equal(w, old[kernel.format(1)]) for w in ours]
    assert firsts == [True, True, True, False, False]
    assert lasts == [False, False, False, True, True]
    kernels = [f"encoder_layer_{i}/feedforward/outer/kernel" for i in range(5)]
    added = [not named[kernel].any() for kernel in kernels]
    assert added == [False, True, True, False, True]
    assert run.manifest["initial"]["run"] == str(deep.folder)


@pytest.mark.parametrize(
    ("depth", "kept"), [(1, [0]), (2, [0, 2]), (3, [0, 1, 2])]
)
def test_a_shallower_model_keeps_layers_at_equal_distances(
    deep, deep_model, new_run, depth, kept
):
    model = new_run(deep, model=of_depths(2, depth)).load_model("initial")
    old = by_path(deep_model)
    for weight in model.weights:
        layer, _, rest = weight.path.partition("/")
        stack, _, index = layer.rpartition("_layer_")
        if stack == "decoder":
            layer = f"decoder_layer_{kept[int(index)]}"
        assert np.array_equal(weight.numpy(), old[f"{layer}/{rest}"])


def test_layers_normalised_after_their_sum_are_copied_whole(new_run):
    """A layer of post-norm is no identity with an output of zero."""
    post = {"norm": "post"}
    parent = new_run(model=post)
    parent.save_weights(parent.build_model(), "best", 1, {})
    run = new_run(parent, model={**post, **of_depths(3, 1)})
    model = run.load_model("initial")
    kernels = [
        weight.numpy()
        for weight in model.weights
        if weight.path.startswith("encoder_layer")
        and weight.path.endswith("output/kernel")
    ]
    assert len(kernels) == 3
    for kernel in kernels:
        assert np.array_equal(kernel, kernels[0])
        assert kernel.any()


def test_damaged_weights_start_nothing(prepared, config, tmp_path):
    parent = Run.create(tmp_path / "parent", config, prepared)
    with pytest.raises(InputError, match="best.weights.h5: no such weights"):
        Run.create(tmp_path / "run", config, prepared, parent)
    parent.save_weights(parent.build_model(), "best", 1, {})
    parent.weights_path("best").write_bytes(b"damaged")
    with pytest.raises(InputError, match="best.weights.h5: damaged"):
        Run.create(tmp_path / "run", config, prepared, parent)
    assert not (tmp_path / "run").exists()


class LastSteps(Recorder):
    """Keeps the weights that are trained, after each epoch's last step."""

    def start(self, model, batches):
        self.model = model
        self.ends = {}

    def step(self, epoch, batch, logs):
        super().step(epoch, batch, logs)
        self.ends[epoch] = weights_of(self.model)


@pytest.mark.medium
def test_kept_weights_lie_between_the_initial_and_the_trained_ones(
    parent, prepared, new_run
):
    """Which are trained as ever."""
    initial = weights_of(parent.load_model("best"))
    ends = {}
    for fraction in (0.0, 0.75):
        training = {"epochs": 2, "initial_fraction": fraction}
        run = new_run(parent, training=training)
        observer = LastSteps()
        model = fit(run, prepared, observer=observer)
        assert_same_weights((model, run.load_model("last")))
        ends[fraction] = observer.ends[2]
        expected = [
            fraction * begin + (1 - fraction) * trained
            for begin, trained in zip(initial, ends[fraction], strict=True)
        ]
        assert difference(weights_of(model), expected) < 1e-6
    assert difference(*ends.values()) < 1e-6
    assert difference(initial, expected) > 1e-4


@pytest.mark.slow
def test_a_resumed_run_has_the_same_weights_between(parent, prepared, new_run):
    """Which are those that were scored, the averaged ones, too."""
    training = {"epochs": 3, "initial_fraction": 0.75, "average_epochs": 2}
    whole, parts = (new_run(parent, training=training) for _ in range(2))
    expected = fit(whole, prepared)
    dev = evaluation_batches(prepared, "dev")
    line = whole.history()[-1]
    for which, score in (("last", ""), ("average", "average_")):
        loss, _ = cross_entropy(whole.load_model(which), dev)
        assert line[f"val_{score}cross_entropy"] == pytest.approx(loss, 1e-4)
    model = fit_in_two_parts(parts, prepared, stop_after=20)
    assert_same_weights((model, expected), 1e-4)
    assert_same_weights((model, parts.load_model("last")))


def test_a_fraction_of_no_initial_weights_is_refused(
    prepared, config, tmp_path
):
    interpolated = config.updated({"training": {"initial_fraction": 0.75}})
    with pytest.raises(InputError, match="to begin with: --from") as caught:
        Run.create(tmp_path / "run", interpolated, prepared)
    assert "Received: 0.75 without them. Accepted: 0" in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"training": {"subword_sampling": 0.1}},
        {"training": {"bleu_every": 1}},
        {"model": {"max_length": 4}},
        {"model": {"tied_embeddings": "all"}},
    ],
    ids=["subwords", "dev", "lengths", "vocabularies"],
)
def test_other_tokenizers_are_told_before_what_follows_from_them(
    parent, config, tmp_path, wrong
):
    """Data prepared again with the right ones may fit as it is."""
    path = tmp_path / "few.tsv"
    path.write_text("one two one two one\ttwo three\n")
    other = prepare([path], tmp_path / "other", word_data(target_language="en"))
    says = f"Accepted: data prepared with --tokenizers {parent.folder}"
    with pytest.raises(InputError, match=says):
        Run.create(tmp_path / "run", config.updated(wrong), other, parent)
