"""The command line, a module per subcommand.

Nothing else prints, but for `train` with `verbose` and the access log of the
embedded server.
"""
