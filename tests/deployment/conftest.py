"""Models' folders with nothing real in them, and Kubernetes' schemas."""

import pytest


def add(base, *versions):
    for version in versions:
        (base / version / "variables").mkdir(parents=True)
        (base / version / "saved_model.pb").touch()
    return base


@pytest.fixture
def base(tmp_path):
    return add(tmp_path / "saved_models" / "en_ZH.2", "1", "2", "007")


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
