"""Publishes, labels, rolls back and prunes versions of an exported model.

BASE is the model's folder, which holds its versions. models.config lets
TensorFlow Serving load the versions that labels name, and those that they named
last before (without labels: the latest version). If `export --format tfserving`
has written files for the server, each change rewrites them.

example:
  keras-transformer versions saved_models/en-zh list
  keras-transformer versions saved_models/en-zh label stable 1
  keras-transformer versions saved_models/en-zh publish elsewhere/en-zh/7 \\
      --model-version 7 --label canary
  keras-transformer versions saved_models/en-zh label stable 7
  keras-transformer versions saved_models/en-zh rollback stable
  keras-transformer versions saved_models/en-zh prune --keep 3
"""

import argparse
import json

from keras_transformer.cli.console import say, table
from keras_transformer.cli.options import add_json_option, add_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help="the model's folder")
    add_json_option(parser)
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    actions.add_parser("list", help="all versions")
    action = actions.add_parser("publish", help="check and copy a version")
    action.add_argument("source", metavar="FOLDER", help="a version folder")
    version = "default: one above the highest there"
    add_options(action, {"--model-version N": version}, type=int)
    add_options(action, {"--label LABEL": "that names it then"})
    action = actions.add_parser("label", help="let a label name a version")
    action.add_argument("label", help="such as stable or canary")
    action.add_argument("version", type=int)
    action = actions.add_parser("unlabel", help="forget a label")
    action.add_argument("label")
    action = actions.add_parser(
        "rollback", help="let a label name what it named before"
    )
    action.add_argument("label", nargs="?", default="stable")
    action = actions.add_parser(
        "prune", help="remove old versions, never a served one or the latest"
    )
    keep = "so many of the newest stay (default: 3)"
    add_options(action, {"--keep N": keep}, type=int, default=3)
    add_options(action, {"--dry-run": "only say which would go"})


def run(arguments: argparse.Namespace) -> None:
    from keras_transformer.exporting.registry.releases import list_releases
    from keras_transformer.exporting.server_files import check_server_files

    changes = arguments.action != "list" and not getattr(
        arguments, "dry_run", False
    )
    if changes:
        check_server_files(arguments.base)
    values = _change(arguments)
    if changes:
        _refresh(arguments)
    releases = list_releases(arguments.base)
    if arguments.json:
        versions = [release.to_dict() for release in releases]
        print(json.dumps({**values, "versions": versions}))
        return
    for name, value in values.items():
        say(f"{name}: {', '.join(map(str, value)) or 'none'}")
    print(table([_row(release) for release in releases] or [("none", "")]))


def _change(arguments):
    """Runs the action; returns the versions that it concerned, by name."""
    from keras_transformer.exporting.registry import labels, releases

    base = arguments.base
    match arguments.action:
        case "publish":
            return {"published": [_publish(arguments)]}
        case "label":
            labels.set_label(base, arguments.label, arguments.version)
        case "unlabel":
            labels.remove_label(base, arguments.label)
        case "rollback":
            labels.roll_back(base, arguments.label)
        case "prune":
            removed = releases.prune(base, arguments.keep, arguments.dry_run)
            return {"would_remove" if arguments.dry_run else "removed": removed}
    return {}


def _publish(arguments):
    from keras_transformer.exporting.registry.labels import (
        require_name,
        set_label,
    )
    from keras_transformer.exporting.registry.releases import (
        publish,
        require_stable,
    )

    if arguments.label is not None:
        # Fails before the long work.
        require_name(arguments.label)
        require_stable(arguments.base, arguments.label, arguments.model_version)
    path = publish(
        arguments.source, arguments.base, arguments.model_version, say
    )
    if arguments.label is not None:
        set_label(arguments.base, arguments.label, int(path.name))
    return int(path.name)


def _refresh(arguments):
    """Updates the server's files, if there are any."""
    from keras_transformer.exporting.server_files import (
        refresh_server_files,
    )

    for path in refresh_server_files(arguments.base):
        say(f"updated {path}")


def _row(release):
    labels = f"  {', '.join(release.labels)}" if release.labels else ""
    served = "served" if release.served else "not served"
    size = f"{release.size / 2**20:.1f} MiB"
    created = str(release.created or "no date")
    return (
        str(release.version),
        f"{served:<10}  {created:<25}  {size:>10}{labels}",
    )
