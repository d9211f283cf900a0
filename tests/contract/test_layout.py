"""Layout of exports: what its tables and the REST API's description share."""

from keras_transformer.contract import layout
from keras_transformer.system.files import read_yaml


def test_the_description_has_the_paths_that_every_server_has():
    paths = read_yaml(layout.OPENAPI)["paths"]
    assert {layout.METRICS_PATH, layout.OPENAPI_PATH} <= paths.keys()


def test_signatures_name_tensors_that_servers_can_join():
    assert {*layout.TRANSLATING} <= layout.SIGNATURES.keys()
    for name, signature in layout.SIGNATURES.items():
        assert signature.inputs[0] == layout.TEXT
        assert not set(signature.inputs) & signature.outputs.keys()
        # Ranks of n-best lists are as many in each part of a batch.
        is_ragged = any(rank > 1 for _, rank in signature.outputs.values())
        assert signature.varying == (is_ragged and name != layout.NBEST)
        assert all(0 < rank < 4 for _, rank in signature.outputs.values())
