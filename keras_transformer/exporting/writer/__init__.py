"""Writer: exports a run as a version folder or in another format."""
