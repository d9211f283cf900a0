"""The command line, a module per subcommand. Nothing else prints."""
