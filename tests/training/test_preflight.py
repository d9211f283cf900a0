import pytest

from keras_transformer.errors import InputError
from keras_transformer.training.run import Run


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("model", {"max_length": 5}, "takes 6 positions.*max_length"),
        ("training", {"source_embeddings": "gone.txt"}, "gone.txt can't be"),
        (
            "training",
            {"freeze": ["encoder_layer_0", "encoder_layer_1"]},
            "no weight matches 'encoder_layer_1'.*instance, source_embedding/",
        ),
        ("training", {"freeze": ["*"]}, "leaves no weight to train.*: \\*"),
        (
            "training",
            {"subword_sampling": 0.1},
            "needs a sentencepiece tokenizer.*word source and word target",
        ),
    ],
)
def test_what_does_not_fit_is_told_before_anything_is_written(
    prepared, config, tmp_path, section, values, message
):
    config = config.updated({section: values})
    with pytest.raises(InputError, match=message):
        Run.create(tmp_path / "run", config, prepared)
    assert list(tmp_path.iterdir()) == []
