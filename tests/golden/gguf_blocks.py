"""Records the values of random blocks by gguf's Python package: types that blocks.json lacks.

    python gguf_blocks.py > gguf_blocks.json

Scales are moderate, everything else in a block is random bytes.
"""

import base64
import importlib.metadata
import json

import gguf
import numpy as np

# Offsets of the scales (f16) in a block, and of an exponent.
HALVES = {
    "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q5_K": [0, 2], "IQ4_NL": [0], "IQ4_XS": [0],
    "MXFP4": [],
}


def text(array):
    return base64.b64encode(array.tobytes()).decode()


types = {}
for name, places in HALVES.items():
    kind = gguf.GGMLQuantizationType[name]
    values, size = gguf.GGML_QUANT_SIZES[kind]
    count = 1024 // values
    random = np.random.default_rng(kind.value)
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    for place in places:
        scale = random.uniform(-0.1, 0.1, count).astype(np.float16)
        blocks[:, place : place + 2] = scale.view(np.uint8).reshape(count, 2)
    if name == "MXFP4":
        blocks[:, 0] = random.integers(100, 140, count)
    widened = gguf.quants.dequantize(blocks.reshape(1, -1), kind).astype(np.float32)
    case = {"label": "random blocks", "values": widened.size}
    types[name] = {
        "id": kind.value, "values_per_block": values, "bytes_per_block": size,
        "cases": [{**case, "blocks": text(blocks), "f32": text(widened)}],
    }
print(json.dumps({"gguf": importlib.metadata.version("gguf"), "types": types}))
