"""The tests of layers that are the same on every backend, on JAX."""

from tests.layers.test_dropout import (  # noqa: F401
    test_calls_and_seeds_differ_and_repeat,
    test_drops_its_share_and_keeps_the_mean,
    test_every_place_is_dropped_as_often,
    test_lower_precision,
    test_rates_at_the_ends,
    test_the_shares_of_calls_average_to_the_rate,
)
from tests.layers.test_hidden_positions import (  # noqa: F401
    test_a_decoder_layer_is_causal_in_a_graph_of_any_length,
    test_a_model_hides_padding,
    test_attention_is_causal_as_keras_own,
    test_attention_weights_are_those_of_the_call,
)
