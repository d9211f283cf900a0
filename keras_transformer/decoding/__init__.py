"""From a trained model to translations: search, score, translate."""
