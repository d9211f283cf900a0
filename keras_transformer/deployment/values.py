"""Values that go into the files: what is accepted, and how it is quoted.

Names, images and sizes are accepted only as their readers have them, so that
they need no quotes. Text of any kind is quoted for YAML, for a shell, or for
both; what no quotes can hold, such as a new line, is refused.
"""

import json
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping

from keras_transformer.errors import InputError, shown
from keras_transformer.yaml_text import NotYaml, load_yaml

# RFC 1123, as Kubernetes checks it. Shorter than its 63 characters: the names
# of what belongs together are made of it, and pods' hosts of those.
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_LONGER_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# REPOSITORY[:TAG][@DIGEST], with the characters that registries accept.
_IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?"
    r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
_BUCKET = re.compile(r"(gs|s3)://[a-z0-9][a-z0-9._-]+(/[\w.-]+)*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SLURM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,:-]*")
_SLURM_TIME = re.compile(r"(\d+-)?\d+(:\d\d){0,2}", re.ASCII)
# What it is about, by the option that gives it.
KINDS = {
    "--name": (_NAME, "a name: a to z, 0 to 9 and -, 40 at most"),
    "--namespace": (_NAMESPACE, "a namespace: a to z, 0 to 9 and -"),
    "--allow-namespace": (_NAMESPACE, "a namespace: a to z, 0 to 9 and -"),
    "--service-account": (_LONGER_NAME, "the name of a service account"),
    "--claim": (_LONGER_NAME, "the name of a PersistentVolumeClaim"),
    "--image": (_IMAGE, "an image, such as registry.example/mt:1.0"),
    "--bucket": (_BUCKET, "gs://BUCKET/FOLDER or s3://BUCKET/FOLDER"),
    "--partition": (_SLURM_NAME, "the name of a partition"),
    "--account": (_SLURM_NAME, "the name of an account"),
    "--time": (_SLURM_TIME, "a time as Slurm has it, such as 1-12:00:00"),
}
_OF_SLURM = ("--partition", "--account", "--time")
# Control and formatting characters, surrogates, what is no character (yet),
# and what ends a line or a paragraph.
_UNSEEN = ("Cc", "Cf", "Cn", "Cs", "Zl", "Zp")


def require_kind(option: str, text: str) -> str:
    """Returns what an option was given, if it is what the option takes.

    Args:
        option: one of `KINDS`.
        text: what it was given.

    Raises:
        InputError: says what would be accepted.
    """
    pattern, accepted = KINDS[option]
    if not pattern.fullmatch(text):
        raise InputError(f"{option} takes {accepted}. Received: {shown(text)}")
    if option not in _OF_SLURM and _is_other_yaml(text):
        raise InputError(
            f"{option} takes {accepted}, and nothing that YAML reads as "
            f"another value. Received: {shown(text)}"
        )
    return text


def _is_other_yaml(text):
    """Whether a name without quotes would be a number or a boolean."""
    try:
        return text in ("y", "n") or load_yaml(text) != text
    except NotYaml:
        return True


def require_text(option: str, text: str) -> str:
    """Returns the text, if it is one line that can be seen.

    Raises:
        InputError: it is empty, or has control characters or characters
            that aren't of UTF-8, which a line of a file can't hold.
    """
    if not text or any(
        unicodedata.category(character) in _UNSEEN for character in text
    ):
        raise InputError(
            f"{option} takes a text of one line, without control characters. "
            f"Received: {shown(text)}"
        )
    return text


def environment(settings: Iterable[str]) -> dict[str, str]:
    """The variables of `NAME=VALUE`s.

    Raises:
        InputError: one isn't so, or has a value of several lines.
    """
    variables = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (equals and _VARIABLE.fullmatch(name)):
            raise InputError(f"--env takes NAME=VALUE. Received: {setting!r}")
        variables[name] = value and require_text("--env", value)
    return variables


def in_yaml(text: str) -> str:
    """A string in quotes, as YAML and JSON have it."""
    return json.dumps(text, ensure_ascii=False)


def in_shell(words: Iterable[str]) -> str:
    """A command's words, each as a shell takes it for one."""
    return shlex.join(map(str, words))


def in_pod(text: str) -> str:
    """A text as Kubernetes takes it in a command or in a variable's value.

    `$(NAME)` stands for a variable there, and `$$` for a dollar.
    """
    return text.replace("$", "$$")


def mebibytes(gibibytes: float) -> int:
    """Memory as an option gives it, in the unit of the files.

    Raises:
        InputError: less than 1/16 GiB, more than 64 TiB, or no number.
    """
    if not 1 / 16 <= gibibytes <= 2**16:
        raise InputError(
            f"--memory takes GiB, from 0.0625 on. Received: {gibibytes}"
        )
    return round(1024 * gibibytes)


def require_count(option: str, value: int, lowest: int = 1) -> int:
    """Returns the number, if it is large enough.

    Raises:
        InputError: it is smaller.
    """
    if value < lowest:
        raise InputError(f"{option} takes {lowest} or more. Received: {value}")
    return value


def yaml_list(words: Iterable[str]) -> str:
    """Lines of a YAML list of a container's arguments, each in quotes."""
    return "\n".join(f"- {in_yaml(in_pod(word))}" for word in words)


def environment_lines(variables: Mapping[str, str]) -> str:
    """Lines of a YAML list of a container's variables."""
    return "\n".join(
        f"- name: {in_yaml(name)}\n  value: {in_yaml(in_pod(value))}"
        for name, value in variables.items()
    )
