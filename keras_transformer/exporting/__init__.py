"""A SavedModel for TensorFlow Serving, proved before it is published.

`writer` makes a version folder of a run, `registry` keeps a model's versions,
labels and releases, `server_files` writes the configuration of a server.
`verification` checks a version, in fresh processes. `session` is how everything
here and the embedded server run one; `verification.c_api` is the independent
second way. `saved_translator` translates with one in Python.
"""
