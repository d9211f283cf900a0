"""As many translations as texts are scored; everyone refuses others."""

import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.contract.status import Code, as_serving_error
from keras_transformer.exporting.session import SavedModelSession

ONE, THREE = [b"Where is the dog?"], ["狗。".encode()] * 3
UNEQUAL = [(ONE, THREE), (THREE, ONE), (ONE, []), (ONE * 2, THREE)]
WORDS = "score takes one translation for each text. Received texts and "


@pytest.fixture(scope="module")
def session(report):
    session = SavedModelSession(report.path)
    yield session
    session.close()


@pytest.mark.parametrize(("texts", "translations"), UNEQUAL)
def test_a_session_refuses(session, texts, translations):
    inputs = {layout.TEXT: texts, layout.TRANSLATION: translations}
    for outputs in ((), (layout.TOKENS,), (layout.TRUNCATED,)):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(layout.SCORING, inputs, outputs)
        error = as_serving_error(raised.value)
        assert (error.code, error.http_status) == (Code.INVALID_ARGUMENT, 400)
        assert WORDS in error.message
        assert f"[{len(texts)}] [{len(translations)}]" in error.message
        assert "\n" not in error.message
