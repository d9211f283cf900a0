"""The description of the REST API: served, whole, and true."""

import json
import re

from keras_transformer.contract.layout import OPENAPI, OPENAPI_PATH
from keras_transformer.system.files import read_yaml
from tests.serving.asking import ONE, ask
from tests.serving.described import described


def test_the_server_has_it(server):
    answer = ask(server, OPENAPI_PATH)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body) == read_yaml(OPENAPI)


def test_every_operation_answers(server):
    """As it is described, of a model that is there."""
    for method, template in described().operations:
        path = template.format(model="toy", version=1, label="stable")
        body = ONE if method == "POST" else None
        answer = ask(server, path, body, method)
        kind = answer.headers["content-type"]
        operation = described().check(
            method, path, answer.status, kind, answer.body
        )
        assert operation == template
        expected = 501 if re.search(":(classify|regress)$", path) else 200
        assert answer.status == expected, path
