"""Model of the notebook's shape for OpenNMT-tf, which loads this file."""

import opennmt


def model():
    """6 + 6 layers of width 256, pre-norm, as OpenNMT-tf's transformers are."""
    return opennmt.models.Transformer(
        source_inputter=opennmt.inputters.WordEmbedder(embedding_size=256),
        target_inputter=opennmt.inputters.WordEmbedder(embedding_size=256),
        num_layers=6,
        num_units=256,
        num_heads=8,
        ffn_inner_dim=1024,
        dropout=0.1,
        attention_dropout=0.1,
        ffn_dropout=0.1,
    )
