"""Toy models on disk, and a server of them."""

import pytest

pytest.importorskip("tensorflow_serving", reason="needs the extra [serving]")
pytest.importorskip("uvicorn", reason="needs the extra [serving]")

from tests.serving.toy_models import write_version  # noqa: E402


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """The folder of a model with the versions 1 and 2; never changed."""
    base = tmp_path_factory.mktemp("models") / "toy"
    base.mkdir()
    write_version(base, 1, mark="one ")
    write_version(base, 2, warmup=["1.5"], mark="")
    return base
