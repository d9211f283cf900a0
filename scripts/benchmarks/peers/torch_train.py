"""Training speed of PyTorch's own Transformer on given batches.

Runs in an environment that has torch: torch_train.py BATCHES MODEL, where
BATCHES is the `.npz` file of ids that `scripts/benchmarks/training --backend
jax` has trained on and MODEL a JSON object of sizes. `nn.Transformer` in
bfloat16 under autocast, or in float32, its step compiled by `torch.compile`,
Adam fused, label smoothing, the target's embedding tied to the output. Prints
one JSON object: source and target tokens a second, of a second pass.
"""

import json
import math
import pathlib
import sys
import time

import numpy as np
import torch
from torch import nn

PAD = 0


class Translator(nn.Module):
    """`nn.Transformer` between embeddings with positions and the logits."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["d_model"]
        self.scale = math.sqrt(width)
        self.source = nn.Embedding(sizes["source_vocabulary_size"], width)
        self.target = nn.Embedding(sizes["target_vocabulary_size"], width)
        for embedding in (self.source, self.target):
            nn.init.normal_(embedding.weight, std=width**-0.5)
        table = torch.tensor(sinusoids(sizes["max_length"], width))
        self.register_buffer("positions", table)
        self.dropout = nn.Dropout(sizes["dropout"])
        self.transformer = nn.Transformer(
            width,
            sizes["num_heads"],
            sizes["num_encoder_layers"],
            sizes["num_decoder_layers"],
            sizes["d_ff"],
            sizes["dropout"],
            sizes["activation"],
            batch_first=True,
            norm_first=sizes["norm"] == "pre",
        )

    def forward(self, source, target):
        length = target.shape[1]
        future = torch.ones(
            length, length, dtype=torch.bool, device=target.device
        ).triu(1)
        hidden = self.transformer(
            self.embed(self.source, source),
            self.embed(self.target, target),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )  # (B, T, D)
        return hidden @ self.target.weight.T  # (B, T, V)

    def embed(self, embedding, ids):
        vectors = embedding(ids) * self.scale + self.positions[: ids.shape[1]]
        return self.dropout(vectors)


def sinusoids(length, width):
    """The paper's encoding of positions, float32 `(length, width)`."""
    rates = 10000.0 ** (-np.arange(0, width, 2) / width)
    angles = np.arange(length)[:, None] * rates
    return (
        np.stack([np.sin(angles), np.cos(angles)], -1)
        .reshape(length, width)
        .astype("float32")
    )  # (length, width)


def read_batches(path, device):
    """Source ids, target ids and labels of each batch, and its tokens."""
    with np.load(path) as archive:
        numbers = sorted({name.split("/")[1] for name in archive.files})
        for number in numbers:
            source = archive[f"source_ids/{number}"]
            target = archive[f"target_ids/{number}"]
            pairs = (target != PAD).any(axis=1).sum()
            tokens = (source != PAD).sum() - 2 * pairs + (target != PAD).sum()
            # Any labels cost the same: the target itself, moved by one.
            labels = np.concatenate([target[:, 1:], target[:, :1]], axis=1)
            labels = np.where(target == PAD, PAD, labels)
            arrays = (source, target, labels)
            yield (
                *(torch.tensor(a, dtype=torch.long).to(device) for a in arrays),
                int(tokens),
            )


def main(batches_path, model_path):
    """Two passes over the batches, of which the second is timed."""
    sizes = json.loads(pathlib.Path(model_path).read_text(encoding="utf-8"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = Translator(sizes).to(device).train()
    optimizer = torch.optim.Adam(
        model.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=True
    )
    half = sizes["precision"] != "float32"

    def loss_of(source, target, labels):
        with torch.autocast(device, torch.bfloat16, enabled=half):
            logits = model(source, target)
        return nn.functional.cross_entropy(
            logits.float().flatten(0, 1),
            labels.flatten(),
            ignore_index=PAD,
            label_smoothing=sizes["label_smoothing"],
        )

    compiled = torch.compile(loss_of, dynamic=True)
    batches = list(read_batches(batches_path, device))

    def one_pass():
        started = time.perf_counter()
        for *ids, _ in batches:
            optimizer.zero_grad(set_to_none=True)
            loss = compiled(*ids)
            loss.backward()
            optimizer.step()
        float(loss)  # Waits for the last step.
        return time.perf_counter() - started

    first, seconds = one_pass(), one_pass()
    memory = None
    if device == "cuda":
        memory = torch.cuda.max_memory_allocated() / 2**20
    result = {
        "peer": f"PyTorch {torch.__version__}",
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "tokens_per_second": sum(batch[-1] for batch in batches) / seconds,
        "compile_seconds": first - seconds,
        "device_memory_mib": memory,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
