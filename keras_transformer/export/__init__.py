"""A SavedModel for TensorFlow Serving, proved before it is published.

`saved_model.export_run` writes one, `loaded.SavedTranslator` opens one, and
`python -m keras_transformer.export.verify FOLDER` checks one again.
"""
