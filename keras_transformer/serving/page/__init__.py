"""Web page at `/` of the REST port."""
