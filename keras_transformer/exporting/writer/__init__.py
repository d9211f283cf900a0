"""Writer: makes a version folder of a run."""
