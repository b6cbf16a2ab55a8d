"""Rewards of rgx in verl: `rgx score --serve --config my.yaml` gives them, this function asks.

    python3 -m verl.trainer.main_ppo ... \
        custom_reward_function.path=verl_reward.py custom_reward_function.name=compute_score

RGX_SCORE_URL is the address that `rgx score --serve` prints. `rgx tasks export --format verl`
writes data sets whose `extra_info` has all that rewards need, but for the completion's tokens: verl
does not give them to this function, so rewards on length (brevity, soft_overlong, cosine_scaled,
repetition_penalty) are refused.
"""

import json
import os
import urllib.error
import urllib.request


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    sample = {
        "data_source": data_source,
        "solution_str": solution_str,
        "ground_truth": ground_truth,
        "extra_info": extra_info or {},
    }
    url = os.environ.get("RGX_SCORE_URL", "http://127.0.0.1:8100") + "/score"
    body = json.dumps({"samples": [sample]}, default=str).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)["rewards"][0] or 0.0
    except urllib.error.HTTPError as error:
        raise ValueError(f"rgx score: {error.read().decode()}") from error
