"""How many examples Hypothesis makes for an attack."""

from hypothesis import HealthCheck, settings


def attacking(count):
    """Hypothesis' settings for so many examples."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
