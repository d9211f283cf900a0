"""How good translations are: BLEU, chrF, cross-entropy."""
