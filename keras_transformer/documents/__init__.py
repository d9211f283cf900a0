"""Documents: the texts of a file to translate, and the file with others."""
