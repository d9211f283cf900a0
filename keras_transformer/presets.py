"""Named configurations, each a recipe; what is in them: docs/recipes.md."""

from keras_transformer.config import Config
from keras_transformer.errors import InputError

PRESETS = {
    # The main notebook's model, batches and schedule, with the smoothing of
    # 0.1 that its text describes (its code runs without) and dropout of 0.2
    # for its 0.1: as run, its probabilities are far too sure on a corpus of
    # its size, and the dev loss stops falling while accuracy still rises.
    "notebook": {
        "model": {
            "num_encoder_layers": 6,
            "num_decoder_layers": 6,
            "d_model": 256,
            "num_heads": 8,
            "d_ff": 1024,
            "dropout": 0.2,
        },
        "training": {
            "batch_sentences": 128,
            "warmup_steps": 2000,
            "label_smoothing": 0.1,
        },
    },
    # Vaswani et al. 2017, table 3, row "base".
    "base": {
        "model": {
            "num_encoder_layers": 6,
            "num_decoder_layers": 6,
            "d_model": 512,
            "num_heads": 8,
            "d_ff": 2048,
            "attention_dropout": 0.0,
            "feedforward_dropout": 0.0,
            "norm": "post",
            # The paper ties the source's embedding too, over one vocabulary
            # for both languages: "all", with data.shared_vocabulary.
            "tied_embeddings": "target",
        },
        "training": {
            "batch_tokens": 25_000,
            "warmup_steps": 4000,
            "label_smoothing": 0.1,
        },
    },
    # Vaswani et al. 2017, table 3, row "big".
    "big": {
        "model": {
            "num_encoder_layers": 6,
            "num_decoder_layers": 6,
            "d_model": 1024,
            "num_heads": 16,
            "d_ff": 4096,
            "dropout": 0.3,
            "attention_dropout": 0.0,
            "feedforward_dropout": 0.0,
            "norm": "post",
            "tied_embeddings": "target",  # as in base
        },
        "training": {
            "batch_tokens": 25_000,
            "warmup_steps": 4000,
            "label_smoothing": 0.1,
        },
    },
    # Some 10,000 to 100,000 pairs, as in Multi30k: the text-only
    # Transformer-Tiny of Wu et al. 2021, "Good for Misconceived Reasons",
    # with their schedule, batches, patience and search. Normalised before
    # each sublayer, as at this rate the paper's order is slow to start.
    "tiny": {
        "model": {
            "num_encoder_layers": 4,
            "num_decoder_layers": 4,
            "d_model": 128,
            "num_heads": 4,
            "d_ff": 256,
            "dropout": 0.3,
            "attention_dropout": 0.0,
            "feedforward_dropout": 0.0,
            "norm": "pre",
            "tied_embeddings": "all",
        },
        "data": {
            "source_tokenizer": "sentencepiece",
            "target_tokenizer": "sentencepiece",
            "source_vocabulary_size": 10_000,
            "target_vocabulary_size": 10_000,
            "shared_vocabulary": True,
        },
        "training": {
            "epochs": 100,
            "early_stopping": 10,
            "average_epochs": 10,
            "batch_tokens": 4096,
            "warmup_steps": 2000,
            "learning_rate": 5e-3,
            "label_smoothing": 0.1,
            "precision": "auto",
        },
        "decoding": {"beam_size": 5},
    },
    # The best found for English to Chinese on Tatoeba's 27,000 pairs in half
    # an hour on two cores.
    "tatoeba": {
        "model": {
            "num_encoder_layers": 3,
            "num_decoder_layers": 3,
            "d_model": 256,
            "num_heads": 4,
            "d_ff": 1024,
            "dropout": 0.3,
            "tied_embeddings": "target",
        },
        "data": {
            "source_tokenizer": "sentencepiece",
            "source_vocabulary_size": 8000,
        },
        "training": {
            "epochs": 40,
            "average_epochs": 8,
            "batch_tokens": 1536,
            "warmup_steps": 2000,
            "learning_rate": 1e-3,
            "precision": "auto",
        },
    },
    # A first model of one's own on a processor.
    "small": {
        "model": {
            "num_encoder_layers": 3,
            "num_decoder_layers": 3,
            "d_model": 256,
            "num_heads": 4,
            "d_ff": 1024,
        },
        "training": {"warmup_steps": 2000},
    },
    # The built-in corpus in a few minutes on two cores.
    "demo": {
        "model": {
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
            "d_model": 128,
            "num_heads": 4,
            "d_ff": 512,
            "max_length": 64,
        },
        "training": {
            "epochs": 8,
            "batch_tokens": 2048,
            "warmup_steps": 400,
        },
    },
}


def preset(name: str) -> Config:
    """The configuration of that name.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        raise InputError(
            f"unknown preset {name!r}. Accepted: {', '.join(PRESETS)}"
        )
    return Config().updated(PRESETS[name], f"preset {name}")
