"""Training requests: what `auto` becomes."""

import pytest

import keras_transformer as kt
from keras_transformer.api.runs import TrainingRequest


@pytest.mark.parametrize("initial", [None, "runs/a"])
def test_the_preset_follows_the_data(tmp_path, initial):
    corpus = tmp_path / "train.en-de.tsv"
    lines = (f"Open File {n}\tDatei {n} öffnen\n" for n in range(60))
    corpus.write_text("".join(lines), encoding="utf-8")
    data = kt.prepare(corpus, tmp_path / "data")
    request = TrainingRequest("auto", [({"model": {"d_model": 64}}, "mine")])
    config, said = request.config_for(data, initial)
    assert config.model.d_model == 64
    if initial:
        assert said == "auto: starts from runs/a: finetune"
        assert config.training == kt.preset("finetune").training
    else:
        assert config.model.tied_embeddings == "all"
        assert said.startswith("auto: 60 pairs, no GPU: tatoeba, one vocab")
        assert said.endswith("3 + 3 layers of width 64")
