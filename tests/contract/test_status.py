import pytest
import tensorflow as tf

from keras_transformer.contract.status import (
    Code,
    ServingError,
    as_serving_error,
    code_of_http,
    shortened,
)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.INVALID_ARGUMENT, 400),
        (Code.NOT_FOUND, 404),
        (Code.RESOURCE_EXHAUSTED, 429),
        (Code.UNIMPLEMENTED, 501),
        (Code.UNAVAILABLE, 503),
        (Code.DEADLINE_EXCEEDED, 504),
    ],
)
def test_a_client_reads_the_code_that_the_server_had(code, status):
    assert ServingError(code, "").http_status == status
    assert code_of_http(status) is code


def test_statuses_with_several_codes_or_none():
    assert ServingError(Code.OUT_OF_RANGE, "").http_status == 400
    assert ServingError(Code.DATA_LOSS, "").http_status == 500
    assert ServingError(Code.RESOURCE_EXHAUSTED, "", 413).http_status == 413
    assert code_of_http(413) is Code.INVALID_ARGUMENT
    assert code_of_http(502) is Code.UNAVAILABLE
    assert code_of_http(408) is Code.DEADLINE_EXCEEDED
    assert code_of_http(409) is code_of_http(418) is Code.UNKNOWN


def test_errors_of_any_kind_have_a_code_and_one_line():
    node = "could not parse x\n\t [[{{node Parse}}]]"
    error = as_serving_error(tf.errors.InvalidArgumentError(None, None, node))
    assert (error.code, error.message) == (
        Code.INVALID_ARGUMENT,
        "could not parse x",
    )
    error = as_serving_error(MemoryError())
    assert error.code is Code.RESOURCE_EXHAUSTED
    error = as_serving_error(KeyError("a"))
    assert (error.code, error.message) == (Code.INTERNAL, "KeyError: 'a'")


def test_texts_are_shortened_in_the_middle():
    for text, limit, expected in (
        ("abc", 3, "abc"),
        ("abcdefgh", 4, "ab...gh"),
        ("狗" * 10, 9, "狗...狗"),
        ("\udcff" * 3, 9, "\ufffd" * 3),
        ("\ud800", 9, "?"),
    ):
        assert shortened(text, limit) == expected
    assert len(shortened("\udcff" * 10**6, 2000).encode()) <= 2003
