"""Jobs on Kubernetes and Slurm: training on hosts, translation of shards.

A training that was ended goes on from its checkpoint; a shard that is
finished is skipped. So both kinds of jobs are simply started again.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from keras_transformer.deployment.model_configs import USER
from keras_transformer.deployment.templates import fill
from keras_transformer.deployment.values import (
    environment_lines,
    in_pod,
    in_shell,
)

# Where jax.distributed looks for the first host.
COORDINATOR_PORT = 55527
_PROGRAM = "keras-transformer"


@dataclasses.dataclass(frozen=True)
class JobOptions:
    """What a job gets; values as `values.require_kind` accepts them.

    Attributes:
        name: of all objects.
        cpus: of a host.
        memory: of a host, MiB.
        gpus: of a host.
        tries: after the first, until a job is given up.
        environment: variables.
        image: with this package. This and the next four are Kubernetes'.
        namespace: "": that of who applies the file.
        claim: PersistentVolumeClaim, the working folder.
        user: number of the user who owns files in it.
        jobset: whether a JobSet is written in place of Jobs.
        program: path of `keras-transformer`. This and the next three are
            Slurm's.
        partition: "": the default one.
        account: "": the default one.
        time: limit of a try; "": the partition's.
    """

    name: str
    cpus: int
    memory: int
    gpus: int = 0
    tries: int = 10
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    image: str = ""
    namespace: str = ""
    claim: str = ""
    user: int = USER
    jobset: bool = False
    program: str = _PROGRAM
    partition: str = ""
    account: str = ""
    time: str = ""


def training_manifests(
    options: JobOptions,
    command: Sequence[str],
    run: str,
    hosts: int,
    file: str,
) -> str:
    """Kubernetes objects that train, as YAML documents.

    Args:
        options: of the job.
        command: "train" and its options.
        run: the run's folder in the volume.
        hosts: pods.
        file: the name that the comments call it by.
    """
    begun = in_shell([f"{run}/manifest.json"])
    script = (
        "resume=\n"
        "# A run that has begun goes on from its checkpoint.\n"
        f"if [ -e {begun} ]; then resume=--resume; fi\n"
        f"exec {in_shell([_PROGRAM, *command])} $resume\n"
    )
    values = {
        **_pod_values(options),
        "discovery": hosts > 1,
        "token": "true" if hosts > 1 else "false",
        "grace_seconds": 120,
    }
    return fill(
        "training.yaml",
        {
            **values,
            "file": file,
            "hosts": hosts,
            "backoff": options.tries * hosts,
            "pod": _pod(values, "train", script),
        },
    )


def training_script(
    options: JobOptions,
    command: Sequence[str],
    run: str,
    hosts: int,
    file: str,
) -> str:
    """A script for `sbatch` that trains; see `training_manifests`."""
    values = {
        **_slurm_values(options, command, hosts),
        "file": file,
        "run": in_shell([run]),
    }
    return fill("training.sh", values)


def translation_manifests(
    options: JobOptions,
    command: Sequence[str],
    shards: int,
    at_once: int,
    file: str,
) -> str:
    """Kubernetes objects that translate shards and join them.

    Args:
        options: of the job.
        command: "translate" and its options, without those that say which
            shard, or that they are to be joined.
        shards: their number.
        at_once: pods at a time.
        file: the name that the comments call it by.
    """
    values = {
        **_pod_values(options),
        "discovery": False,
        "token": "false",
        "grace_seconds": 30,
    }
    translate = in_shell([_PROGRAM, *command])
    shard = f'exec {translate} --shard "$JOB_COMPLETION_INDEX"\n'
    join = f"exec {translate} --join\n"
    namespace = options.namespace and f"-n {options.namespace} "
    return fill(
        "translation.yaml",
        {
            **values,
            "file": file,
            "shards": shards,
            "at_once": min(at_once, shards),
            "in_namespace": namespace,
            "pod": _pod(values, "translate", shard),
            "join_pod": _pod(values, "join", join),
        },
    )


def translation_script(
    options: JobOptions,
    command: Sequence[str],
    shards: int,
    at_once: int,
    file: str,
) -> str:
    """A script that submits itself to Slurm; see `translation_manifests`."""
    values = {
        **_slurm_values(options, command, hosts=1),
        "file": file,
        "shards": shards,
        "last_shard": shards - 1,
        "at_once": min(at_once, shards),
    }
    return fill("translation.sh", values)


def _pod_values(options):
    return {
        **dataclasses.asdict(options),
        "port": COORDINATOR_PORT,
        "environment": environment_lines(options.environment),
    }


def _pod(values, container, script):
    """The template of a pod that runs a script of a shell."""
    values = {**values, "container": container, "script": in_pod(script)}
    return fill("pod.yaml", values)


def _slurm_values(options, command, hosts):
    exports = (
        f"export {name}={in_shell([value])}"
        for name, value in options.environment.items()
    )
    values = {**dataclasses.asdict(options), "hosts": hosts}
    return {
        **values,
        "environment": "\n".join(exports),
        "command": in_shell([options.program, *command]),
        "slurm_options": fill("slurm_options.sh", values),
    }
