"""A SavedModel for TensorFlow Serving, proved before it is published.

`saved_model.export_run` writes one, `loaded.SavedTranslator` opens one, and
`python -m keras_transformer.export.verify FOLDER` checks one again.
`releases` and `labels` keep a model's versions, and `server_files` writes
what a server is started with.
"""
