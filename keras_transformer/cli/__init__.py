"""The command line, a module per subcommand.

No other package prints, except `train` with `verbose` and the access log of
the embedded server.
"""
