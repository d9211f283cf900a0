"""The tests of dropout that are the same on every backend, on JAX."""

from tests.layers.test_dropout import (  # noqa: F401
    test_calls_and_seeds_differ_and_repeat,
    test_lower_precision,
    test_rates_at_the_ends,
)
