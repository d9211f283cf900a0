"""Models' folders with nothing real in them, and Kubernetes' schemas."""

import pytest

from keras_transformer.deployment.serving import (
    ServingOptions,
    serving_manifests,
)
from tests.deployment.objects import load


def add(base, *versions):
    for version in versions:
        (base / version / "variables").mkdir(parents=True)
        (base / version / "saved_model.pb").touch()
    return base


@pytest.fixture
def base(tmp_path):
    return add(tmp_path / "saved_models" / "en_ZH.2", "1", "2", "007")


@pytest.fixture
def manifests(base):
    """Makes the objects of a service, with some of its options."""
    return lambda **options: load(
        serving_manifests(base, ServingOptions(**options))
    )


@pytest.fixture(scope="session")
def validate():
    """Checks objects as Kubernetes does, misspelt keys included."""
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate isn't installed"
    )

    def check(documents):
        for document in documents:
            schemas.validate(document, schemas.latest_version(), strict=True)

    return check
