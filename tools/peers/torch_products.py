"""Products x·Wᵀ in torch, for comparison in `deno task gpu:campaign`.

The argument is JSON: a list of [name, m, n, k]. Prints one line of JSON: for each product the
TFLOP/s in float32 (without and with TF32), float16 and bfloat16, each the median of several runs.
"""
import json
import statistics
import sys
import time

import torch

KINDS = {
    "float32": (torch.float32, False),
    "tfloat32": (torch.float32, True),
    "float16": (torch.float16, False),
    "bfloat16": (torch.bfloat16, False),
}
device = "cuda" if torch.cuda.is_available() else sys.exit("torch sees no card")


def seconds(x, w, calls):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        x @ w.T
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


rows = []
for what, m, n, k in json.loads(sys.argv[1]):
    row = {"what": what}
    for kind, (dtype, tf32) in KINDS.items():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        x = torch.full((m, k), 0.5, device=device, dtype=dtype)
        w = torch.full((n, k), 0.25, device=device, dtype=dtype)
        seconds(x, w, 2)
        calls = max(1, min(200, int(0.05 / seconds(x, w, 2))))
        median = statistics.median(seconds(x, w, calls) for _ in range(5))
        row[kind] = 2 * m * n * k / median / 1e12
    rows.append(row)
print(json.dumps(rows))
