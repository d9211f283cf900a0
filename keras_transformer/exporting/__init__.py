"""SavedModel exports for TensorFlow Serving, checked before publication.

`writer` exports a run as a version folder, `registry` manages a model's
versions, labels and releases, `server_files` writes the configuration of a
server. `verification` checks a version in fresh processes. `session` runs a
version, here and in the embedded server; `verification.c_api` runs it through
an independent code path. `saved_translator` translates with one in Python.
"""
