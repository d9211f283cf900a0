"""Documents: extract the texts of a file, and write it with translations."""
