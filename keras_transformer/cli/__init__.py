"""The command line, a module per subcommand.

Nothing else prints, but for the access log of the embedded server.
"""
