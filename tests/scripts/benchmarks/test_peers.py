"""The runner of the peers, with programs that stand in for them."""

import json

from scripts.benchmarks.peers import __main__ as peers

# Logs as OpenNMT-tf does.
OPENNMT = """#!/bin/sh
echo "Step = 20 ; steps/s = 1.0, tokens/s = 100 (40 source, 60 target)"
echo "Step = 40 ; steps/s = 1.0, tokens/s = 300 (40 source, 60 target)"
echo "Step = 60 ; steps/s = 1.0, tokens/s = 500 (40 source, 60 target)"
"""


def test_a_rate_is_the_median_of_the_windows_after_the_first(
    tmp_path, monkeypatch, capfd
):
    onmt = tmp_path / "onmt"
    monkeypatch.setattr(peers, "ONMT", onmt)
    monkeypatch.setattr(peers, "WORK", tmp_path / "work")
    monkeypatch.setattr(peers, "REQUIREMENTS", {onmt: "opennmt_tf.txt"})
    (onmt / "bin").mkdir(parents=True)
    (onmt / "ready").touch()
    for name in ("python", "onmt-build-vocab", "onmt-main"):
        path = onmt / "bin" / name
        path.write_text(OPENNMT if name == "onmt-main" else "#!/bin/sh\n")
        path.chmod(0o755)
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / name).write_text("a\tb\n")
    assert peers.main(["train", "--data", str(tmp_path), "--steps", "60"]) == 0
    last = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert last["tokens_per_s_median"] == 400
    assert '"max_step": 60' in (tmp_path / "work/config.yml").read_text()
