"""Rewards of rgx in TRL: `rgx score --serve --config my.yaml` gives them, this function asks.

    from trl_reward import rgx_reward
    GRPOTrainer(model, reward_funcs=rgx_reward, train_dataset=dataset, args=GRPOConfig(...))

RGX_SCORE_URL is the address that `rgx score --serve` prints. The columns of the data set are sent
along; `rgx tasks export --format trl` writes data sets with all that rewards need.
"""

import json
import os
import urllib.error
import urllib.request


def rgx_reward(prompts, completions, completion_ids=None, **columns):
    rows = {"prompt": prompts, "completion": completions, "completion_ids": completion_ids}
    rows.update((name, values) for name, values in columns.items() if isinstance(values, list))
    samples = [
        {name: values[i] for name, values in rows.items() if values is not None}
        for i in range(len(completions))
    ]
    url = os.environ.get("RGX_SCORE_URL", "http://127.0.0.1:8100") + "/score"
    body = json.dumps({"samples": samples}, default=str).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)["rewards"]  # None where no reward applies, as TRL has it
    except urllib.error.HTTPError as error:
        raise ValueError(f"rgx score: {error.read().decode()}") from error
