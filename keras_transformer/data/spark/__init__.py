"""Preparation on Apache Spark: for corpora larger than one machine."""
