"""How fast Python's reasoning-gym makes and scores entries, for `deno task bench:tasks --python`.

Reads one request a line, {"task": name, "seconds": s}, and answers each with one line of JSON. Rates are per second of
processor time, at default parameters, without what the first entry takes.
"""

import json
import sys
import time
from importlib.metadata import version

import reasoning_gym


def rate(seconds, work):
    """Calls of work(i) per second, i = 0, 1, 2, …"""
    begin = time.process_time()
    done = 0
    while True:
        work(done)
        done += 1
        spent = time.process_time() - begin
        if spent >= seconds:
            return done / spent


def measure(task, seconds):
    data = reasoning_gym.create_dataset(task, seed=42, size=500)
    entries = [data[i] for i in range(8)]
    generation = rate(seconds, lambda i: data[i % 500])

    def score(i):
        entry = entries[i % 8]
        data.score_answer("0" if entry["answer"] is None else entry["answer"], entry)

    return {"entries": generation, "scores": rate(seconds / 2, score)}


print(json.dumps({"version": version("reasoning-gym")}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        result = measure(request["task"], request["seconds"])
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
