"""Examples that Hypothesis makes for an attack."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st


def attacking(count):
    """Hypothesis' settings for so many examples."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def pick(*values):
    """One of the values."""
    return st.sampled_from(values)
