"""The REST API as it is described, and whether an answer is as described."""

import functools
import json
import re

import pytest

from keras_transformer.contract.layout import OPENAPI
from keras_transformer.system.files import read_yaml


class Described:
    """The description of the API.

    Args:
        document: OpenAPI 3.1.

    Attributes:
        operations: (method, path with names in braces) of each.
    """

    def __init__(self, document: dict):
        self.document = document
        self.operations = [
            (method.upper(), path)
            for path, item in document["paths"].items()
            for method in item
            if method != "parameters"
        ]

    def operation(self, method: str, path: str):
        """Of a request's target: the operation and its path, or None."""
        for known, template in self.operations:
            if known == method and _pattern(template).fullmatch(path):
                item = self.document["paths"][template]
                return item[method.lower()], template
        return None

    def check(self, method: str, path: str, status: int, kind: str, body):
        """Asserts that an answer is one that is described.

        Args:
            method: of the request.
            path: of the request, without its query.
            status: of the answer.
            kind: its Content-Type.
            body: its bytes.

        Returns:
            the operation's path with names in braces; None: it isn't one of
            the API, and only the form of the error is checked.
        """
        operation = self.operation(method, path)
        if operation is None:
            error = {"$ref": "#/components/schemas/Error"}
            content = {"application/json": {"schema": error}}
        else:
            responses = operation[0]["responses"]
            response = responses.get(str(status)) or responses.get(
                f"{status // 100}XX"
            )
            assert response, f"{method} {path}: {status} isn't described"
            content = self._resolved(response)["content"]
        expected, media = next(iter(content.items()))
        assert kind.split(";")[0] == expected, f"{method} {path}: {kind}"
        if expected == "application/json":
            value = json.loads(body.decode("utf-8", "surrogateescape"))
            self._validator(json.dumps(media["schema"])).validate(value)
        return operation and operation[1]

    def _resolved(self, value):
        if "$ref" not in value:
            return value
        part = self.document
        for name in value["$ref"].removeprefix("#/").split("/"):
            part = part[name]
        return part

    @functools.lru_cache(64)  # noqa: B019
    def _validator(self, schema):
        validators = pytest.importorskip(
            "jsonschema", reason="jsonschema isn't installed"
        )
        components = {"components": self.document["components"]}
        return validators.Draft202012Validator(json.loads(schema) | components)


@functools.cache
def described() -> Described:
    """That of the package."""
    return Described(read_yaml(OPENAPI))


@functools.cache
def _pattern(template):
    parts = re.split(r"(\{\w+\})", template)
    text = "".join(
        {"{version}": "[0-9]+"}.get(part, "[^/:]+")
        if part.startswith("{")
        else re.escape(part)
        for part in parts
    )
    return re.compile(text, re.IGNORECASE)
