"""Records cases.json: TRL's chunked divergence of a student from a teacher, in float64.

    python record.py       (TRL 1.16, torch on a CPU)

Hidden states and heads are closed forms of their indices; the test computes the same logits.
"""

import json
import math

import torch
from trl.trainer.distillation_trainer import _chunked_divergence_loss

ROWS, VOCAB, STUDENT, TEACHER = 5, 11, 6, 4


def matrix(rows, columns, f):
    return torch.tensor([[f(i, j) for j in range(columns)] for i in range(rows)])


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    mask = torch.tensor([[1, 1, 0, 1, 1]])
    cases = []
    for beta in (0.0, 0.3, 0.5, 1.0):
        for temperature in (1.0, 0.7):
            h = matrix(ROWS, STUDENT, lambda i, j: math.sin(i + 0.7 * j)).requires_grad_()
            w = matrix(VOCAB, STUDENT, lambda i, j: math.cos(0.9 * i - 0.4 * j)).requires_grad_()
            th = matrix(ROWS, TEACHER, lambda i, j: math.cos(1.1 * i + 0.3 * j))
            tw = matrix(VOCAB, TEACHER, lambda i, j: math.sin(0.5 * i + 1.3 * j))
            loss, entropy, count = _chunked_divergence_loss(
                h.unsqueeze(0), th.unsqueeze(0), w, tw, mask, beta, temperature=temperature,
                num_items_in_batch=7,
            )
            loss.backward()
            cases.append({
                "beta": beta, "temperature": temperature, "loss": loss.item(),
                "entropy": entropy.item(), "count": int(count),
                "dhidden": h.grad.tolist(), "dweight": w.grad.tolist(),
            })
    with open("cases.json", "w") as file:
        json.dump({"mask": mask[0].tolist(), "items": 7, "cases": cases}, file, indent=1)
        file.write("\n")
