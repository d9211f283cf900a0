"""Quality of translations: BLEU, chrF, cross-entropy."""
