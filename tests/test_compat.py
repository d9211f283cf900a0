"""Private attributes of other packages that the package reads.

A failure here names what has moved in a new version; `compat` says what
breaks with it.
"""

import ast
import gc
import pathlib
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import compat

# Of named tuples and of `os`, where they are public.
PUBLIC = {"_asdict", "_exit", "_fields", "_replace"}


def test_what_is_private_is_read_here_alone():
    folder = pathlib.Path(compat.__file__).parent
    trees = {
        path.relative_to(folder).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in folder.rglob("*.py")
    }
    trees.pop("compat.py")
    ours = set().union(*map(defined, trees.values()))
    foreign = [
        (path, node.lineno, node.attr)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in ours | PUBLIC
    ]
    assert foreign == []
    private = ("tensorflow.python", "keras.src")
    imported = [
        (path, name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        for name in modules(node)
        if name.startswith(private)
    ]
    assert imported == []


def defined(tree):
    """Names that a module gives to functions, classes and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            yield node.id if isinstance(node, ast.Name) else node.attr


def modules(node):
    """What an import statement imports from."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return []


def test_kernel_variable_is_the_kernel():
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    assert compat.kernel_variable(layer) is layer.weights[0]


def test_embeddings_variable_is_the_matrix():
    layer = keras.layers.ReversibleEmbedding(5, 3)
    layer.build()
    assert compat.embeddings_variable(layer) is layer.weights[0]


def test_an_implicit_mask_stays_with_the_output_of_its_layer():
    layer = keras.layers.Embedding(5, 3, mask_zero=True)
    mask = compat.implicit_mask(layer(np.array([[1, 0]])))
    np.testing.assert_array_equal(mask, [[True, False]])
    x = keras.ops.ones((1, 2, 3))
    assert compat.implicit_mask(x) is None
    compat.set_implicit_mask(x, mask)
    assert compat.implicit_mask(keras.layers.Dropout(0.1)(x)) is mask
    assert compat.implicit_mask(np.ones(2)) is None


def test_adam_moments_are_the_slots_of_the_variable():
    variables = [keras.Variable(np.ones(n, "float32")) for n in (2, 3)]
    optimizer = keras.optimizers.Adam()
    optimizer.build(variables)
    moments = compat.adam_moments(optimizer, variables[1])
    assert [m.shape for m in moments] == [(3,), (3,)]
    assert moments[0].path.endswith("_momentum")
    assert moments[1].path.endswith("_velocity")


def test_compiled_metrics_are_those_given_even_before_they_are_built():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    metric = keras.metrics.MeanSquaredError()
    model.compile(
        "sgd", "mse", metrics=[metric, "mae"], weighted_metrics=["mape"]
    )
    assert compat.compiled_metrics(model) == [metric, "mae", "mape"]
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert compat.compiled_metrics(model) == []


def test_a_loss_tracker_is_the_metric_of_the_loss():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    compat.set_loss_tracker(model, keras.metrics.Sum(name="loss"))
    inputs, labels = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    one = model.evaluate(inputs, labels, verbose=0, return_dict=True)
    two = model.evaluate(inputs, labels, 2, verbose=0, return_dict=True)
    assert two["loss"] == pytest.approx(one["loss"])  # 4, or 2 and 2
    assert [metric.name for metric in model.metrics].count("loss") == 1


def test_one_process_has_no_coordination_service():
    pytest.importorskip("jax", reason="jax isn't installed")
    assert compat.coordination_client() is None


def test_operations_are_known_by_name():
    assert compat.is_operation("MatMul")
    assert not compat.is_operation("NoSuchOperation")


def test_a_dismantled_graph_is_freed_at_once():
    graph = tf.Graph()
    with graph.as_default():
        operation = weakref.ref(tf.constant(1).op)
    gc.disable()
    try:
        assert operation() is not None
        compat.dismantle_graph(graph)
        del graph
        assert operation() is None
    finally:
        gc.enable()


def test_functions_made_in_a_loop_are_no_retracing(caplog):
    """TensorFlow warns of the same, made by itself."""

    def made(make):
        def double(x):
            return 2 * x

        for _ in range(8):
            make(double)(tf.constant([1.0]))
        return "triggered tf.function retracing" in caplog.text

    signature = [tf.TensorSpec([None], tf.float32)]
    assert not made(lambda f: compat.graph_function(f, signature))
    assert made(lambda f: tf.function(f, signature))
