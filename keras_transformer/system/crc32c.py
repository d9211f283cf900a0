"""CRC-32C, the checksum in TensorFlow's records and checkpoints.

Source: RFC 3720, appendix B.4; the masked form: the description in
tensorflow/core/lib/hash/crc32c.h.
"""

import numpy as np

# The remainder of each 16-bit value, by Castagnoli's polynomial.
_REMAINDERS = np.arange(1 << 16, dtype=np.uint32)
for _ in range(16):
    _halves = _REMAINDERS >> np.uint32(1)
    _REMAINDERS = np.where(_REMAINDERS & 1, _halves ^ 0x82F63B78, _halves)
# Bytes that take a remainder of 0 to the initial remainder of CRC-32C.
_BEGINNING = np.frombuffer(bytes.fromhex("54641f64"), np.uint8)


def crc32c(data: bytes | np.ndarray) -> int:
    """CRC-32C of bytes.

    The bytes are arranged in rows whose remainders are computed in parallel,
    as a loop over bytes would take minutes for a model. Zeros before the first
    byte don't change the remainder.

    Args:
        data: bytes, or a uint8 array `(n,)`.
    """
    data = np.frombuffer(data, np.uint8)
    count = len(_BEGINNING) + len(data)
    rows = 1 << count.bit_length() // 2
    columns = -(-count // (2 * rows))  # of two bytes each
    padded = np.zeros(2 * rows * columns, np.uint8)
    padded[len(padded) - count :][: len(_BEGINNING)] = _BEGINNING
    padded[len(padded) - len(data) :] = data
    table = padded.view("<u2").reshape(rows, columns)
    # Then for each of 32 bits, the remainder after a row of zeros follows it.
    remainders = np.zeros(rows + 32, np.uint32)
    remainders[rows:] = 1 << np.arange(32, dtype=np.uint64)
    for column in range(columns):
        index = remainders.astype(np.uint16)  # The lower half.
        index[:rows] ^= table[:, column]
        remainders >>= np.uint32(16)
        remainders ^= _REMAINDERS.take(index)
    remainders, bits = remainders[:rows], remainders[rows:]
    while len(remainders) > 1:  # Two rows become one that is twice as long.
        remainders = _behind(remainders[::2], bits) ^ remainders[1::2]
        bits = _behind(bits, bits)
    return int(remainders[0]) ^ 0xFFFFFFFF


def masked_crc32c(data: bytes | np.ndarray) -> int:
    """CRC-32C as TensorFlow stores it, rotated and with a constant added.

    Without this, all data followed by its own CRC would have the same CRC.
    """
    checksum = crc32c(data)
    turned = checksum >> 15 | checksum << 17
    return (turned + 0xA282EAD8) & 0xFFFFFFFF


def _behind(remainders, bits):
    """Remainders after appending as many zeros as were used for `bits`."""
    moved = np.zeros_like(remainders)
    for number, image in enumerate(bits):
        moved ^= (remainders >> np.uint32(number) & 1) * image
    return moved
