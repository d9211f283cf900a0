"""Page for people at `/` of the REST port."""
