"""Records top.json: TRL's divergence from a teacher behind a server, of which a few log-probabilities
are known, and its gradient by the student's logits, in float64.

    python record_top.py       (TRL 1.16, torch on a CPU)

Logits are closed forms of their indices; the test computes the same.
"""

import json
import math

import torch
from trl.experimental.server_distillation.server_distillation_trainer import (
    ServerDistillationTrainer,
)

ROWS, VOCAB = 5, 11


class Loss(ServerDistillationTrainer):
    """The functions of the loss alone."""

    def __init__(self, beta, count):
        self.beta, self.loss_top_k, self.loss_add_tail = beta, count, True
        self.reverse_kl_top_1_mode = "sampled"


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    own = torch.tensor([[0, 3, 7, 2, 10]])
    cases = []
    for beta, count in ((0.0, 1), (0.0, 3), (0.3, 1), (0.5, 1), (1.0, 1)):
        z = torch.tensor(
            [[[2 * math.sin(1.3 * i + 0.9 * v) for v in range(VOCAB)] for i in range(ROWS)]]
        ).requires_grad_()
        teacher = torch.tensor(
            [[[2 * math.cos(0.7 * i - 1.1 * v) for v in range(VOCAB)] for i in range(ROWS)]]
        ).log_softmax(-1)
        top = teacher.topk(count, dim=-1)
        result = {
            "actual_logprobs": teacher.gather(-1, own.unsqueeze(-1)).squeeze(-1),
            "topk_logprobs": top.values,
            "topk_token_ids": top.indices,
        }
        student, loss = z.log_softmax(-1), Loss(beta, count)
        if beta > 0:
            value = loss._compute_server_sparse_top_1_divergence_loss(result, student, own, own)
        else:
            value = loss._compute_server_forward_kl_loss(result, student, own)
        value.backward()
        cases.append(
            {"beta": beta, "count": count, "loss": value.item(), "gradient": z.grad[0].tolist()}
        )
    with open("top.json", "w") as file:
        json.dump({"own": own[0].tolist(), "cases": cases}, file, indent=1)
        file.write("\n")
