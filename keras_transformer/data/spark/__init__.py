"""Preparation on Apache Spark: corpora larger than one machine."""
