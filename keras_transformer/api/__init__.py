"""What Python programs call, and the command line for them: a function each."""
