"""The speed of Python's reasoning-gym, for `deno task bench:tasks --python`.

Each line on stdin is a request, {"task": name, "seconds": s}, and is answered with one line of
JSON. Rates are per second of processor time at default parameters. Loading does not count.
Entries that a data set makes when it is created count.
"""

import contextlib
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


def making(task, size):
    """Seconds to create a data set."""
    begin = time.process_time()
    reasoning_gym.create_dataset(task, seed=42, size=size)
    return time.process_time() - begin


def made_beforehand(task):
    """Seconds per entry while the data set is created; 0 if it makes entries on request."""
    few, many = making(task, 1), making(task, 501)
    return (many - few) / 500 if many > 2 * few + 0.005 else 0


def measure(task, seconds):
    data = reasoning_gym.create_dataset(task, seed=42, size=500)
    entries = [data[i] for i in range(8)]
    generation = rate(seconds, lambda i: data[i % 500])
    generation = 1 / (1 / generation + made_beforehand(task))

    def score(i):
        entry = entries[i % 8]
        data.score_answer("[]" if entry["answer"] is None else entry["answer"], entry)

    return {"entries": generation, "scores": rate(seconds / 2, score)}


def reply(value):
    print(json.dumps(value), flush=True)


reply({"version": version("reasoning-gym")})
for line in sys.stdin:
    request = json.loads(line)
    try:
        # Some tasks print while they work.
        with contextlib.redirect_stdout(sys.stderr):
            result = measure(request["task"], request["seconds"])
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    reply(result)
