"""A recipe with a real, small model."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class SmallModel:
    """Translates letters greedily with a random Transformer."""

    def __call__(self):
        from keras_transformer.config import DecodingConfig
        from keras_transformer.constants import SPECIAL_TOKENS
        from keras_transformer.inference.incremental import (
            IncrementalTransformer,
        )
        from keras_transformer.text.character import CharacterTokenizer
        from keras_transformer.translation.stream import text_translator
        from keras_transformer.translation.translator import Translator
        from tests.decoding.small_transformers import small_transformer

        tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, *"abcdefghijklmnop"])
        translator = Translator(
            tokenizer,
            tokenizer,
            IncrementalTransformer(small_transformer()),
            DecodingConfig(beam_size=1, max_length=4),
        )
        return text_translator(translator.translate)
