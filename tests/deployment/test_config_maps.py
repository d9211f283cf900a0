"""ConfigMaps of services: what they hold, and when pods see another."""

import re
import shutil

import pytest

from keras_transformer.export.registry.labels import set_label
from tests.deployment.conftest import add
from tests.deployment.objects import container_of, one, pod_of
from tests.export.serving_messages import parse


def test_another_batching_is_a_roll_out_and_another_label_is_none(
    base, manifests
):
    def digest(**options):
        template = one(manifests(**options), "Deployment")["spec"]["template"]
        return template["metadata"]["annotations"]["keras-transformer/config"]

    before = digest(claim="models")
    assert digest(claim="models", cpus=3) != before
    template = one(manifests(claim="models"), "Deployment")["spec"]["template"]
    set_label(base, "canary", 1)
    documents = manifests(claim="models")
    assert one(documents, "Deployment")["spec"]["template"] == template
    text = one(documents, "ConfigMap")["data"]["models.config"]
    assert 'key: "canary" value: 1' in text


@pytest.mark.parametrize("options", [{}, {"bucket": "s3://models/mt"}])
def test_a_pod_keeps_the_configuration_of_the_models_it_came_with(
    base, manifests, options
):
    def config():
        documents = manifests(image="mt:1", **options)
        (volume,) = [
            v for v in pod_of(documents)["volumes"] if v["name"] == "config"
        ]
        metadata = one(documents, "ConfigMap")["metadata"]
        assert volume["configMap"]["name"] == metadata["name"]
        assert re.fullmatch("en-zh-2-serving-[0-9a-f]{8}", metadata["name"])
        return metadata["name"]

    names = [config()]
    set_label(base, "canary", 1)
    names.append(config())
    add(base.parent / "de-en", "3")
    names.append(config())
    assert len(set(names)) == 3
    shutil.rmtree(base.parent / "de-en")
    assert config() == names[1]


@pytest.mark.parametrize(
    "options", [{"claim": "models"}, {"bucket": "gs://models/mt"}]
)
def test_pods_that_load_new_versions_see_their_labels(base, manifests, options):
    def name():
        documents = manifests(**options)
        return one(documents, "ConfigMap")["metadata"]["name"]

    assert name() == "en-zh-2-serving"
    set_label(base, "canary", 1)
    assert name() == "en-zh-2-serving"


def test_flags_name_files_that_the_config_map_holds(manifests):
    documents = manifests()
    files = one(documents, "ConfigMap")["data"].keys()
    named = {
        argument.partition("=/config/")[2]
        for argument in container_of(documents)["args"]
        if "=/config/" in argument
    }
    assert (
        named
        == files
        == {
            "models.config",
            "batching.config",
            "monitoring.config",
        }
    )


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, "/models/en_ZH.2"),
        ({"claim": "models"}, "/models/en_ZH.2"),
        ({"bucket": "gs://a/b"}, "gs://a/b/en_ZH.2"),
        ({"bucket": "s3://a/b"}, "/models/en_ZH.2"),
    ],
)
def test_where_models_are(manifests, options, path):
    text = one(manifests(**options), "ConfigMap")["data"]["models.config"]
    (model,) = parse("ModelServerConfig", text).model_config_list.config
    assert model.base_path == path
