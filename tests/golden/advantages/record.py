"""Records cases.json: advantages as the field's own code computes them, in float64.

    python record.py VERL_CORE_ALGOS VERL_TORCH_FUNCTIONAL MAXRL_CORE_ALGOS TRL_RLOO_TRAINER

Each argument is a Python file of these projects: verl 0.9.1, github.com/tajwarfahim/maxrl
(c0698eb), TRL 1.16. Only the functions that are named below are taken out of them, so nothing
of their other dependencies is needed but torch and numpy.
"""

import ast
import json
import sys
import textwrap
from collections import defaultdict
from types import SimpleNamespace
from typing import Any, Optional

import numpy as np
import torch

GROUPS = [4, 4, 4]
LENGTHS = [3, 7, 5, 2, 4, 4, 6, 1, 2, 9, 3, 5]
REWARDS = {
    "binary": [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
    "partial": [0.25, 1.5, 0, 0.75, 2, 0.5, 0.1, 0.3, 1, 0, 0.6, 0.2],
}
GREEDY = [1, 0.5, 0.25]


def functions(path, names):
    tree = ast.parse(open(path).read())
    space = {
        "torch": torch, "np": np, "defaultdict": defaultdict, "Optional": Optional, "Any": Any,
        "AlgoConfig": object,
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []
            exec(compile(ast.Module([node], []), path, "exec"), space)
    return space


def rloo_of_trl(path, rewards):
    """The lines of RLOOTrainer from the group's sums to the advantages."""
    lines = open(path).read()
    begin = lines.index("        scorable_counts = ")
    end = lines.index("        # Normalize advantages over the scorable subset")
    space = {
        "torch": torch, "num_generations": GROUPS[0], "rewards": rewards,
        "grouped_rewards": rewards.view(-1, GROUPS[0]),
    }
    exec(textwrap.dedent(lines[begin:end]), space)
    return torch.nan_to_num(space["advantages"], nan=0.0)


def main(verl, verl_functional, maxrl, trl):
    outcome = "compute_{}_outcome_advantage".format
    names = ["rloo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "opo"]
    space = functions(verl, [outcome(name) for name in names])
    whiten = functions(verl_functional, ["masked_sum", "masked_mean", "masked_var", "masked_whiten"])
    space["verl_F"] = SimpleNamespace(masked_whiten=whiten["masked_whiten"])
    of_maxrl = functions(maxrl, [outcome("maxrl")])[outcome("maxrl")]
    mask = torch.tensor([[float(t < n) for t in range(max(LENGTHS))] for n in LENGTHS]).double()
    index = np.array([g for g, size in enumerate(GROUPS) for _ in range(size)])
    rows = torch.arange(len(LENGTHS))
    last = torch.tensor(LENGTHS) - 1
    cases = []
    for kind, values in REWARDS.items():
        def tokens():
            table = torch.zeros_like(mask)
            table[rows, last] = torch.tensor(values).double()
            return table

        def add(project, estimator, advantages):
            cases.append({
                "rewards": kind, "project": project, "estimator": estimator,
                "advantages": advantages.tolist(),
            })

        for name in names:
            call = space[outcome(name)]
            if name == "remax":
                of_rows = torch.tensor(GREEDY).double()[index]
                advantages, _ = call(tokens(), of_rows, mask)
            elif name == "reinforce_plus_plus":
                advantages, _ = call(tokens(), mask, SimpleNamespace(gamma=1.0))
            else:
                advantages, _ = call(tokens(), mask, index)
            # Every token of a row has the same one.
            add("verl", name, advantages[:, 0])
        advantages, _ = of_maxrl(tokens(), mask, index)
        add("maxrl", "maxrl", advantages[:, 0])
        add("TRL", "rloo", rloo_of_trl(trl, torch.tensor(values).double()))
    golden = {
        "groups": GROUPS, "lengths": LENGTHS, "rewards": REWARDS, "greedy": GREEDY, "cases": cases,
    }
    with open("cases.json", "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    main(*sys.argv[1:])
