"""The process of a reward in Python, a function of TRL's or of verl's kind.

It speaks the lines of core/sandbox/sandbox_calls.ts: on each line a list of messages, or one.
Standard output is only for these lines; what the reward prints goes to standard error. The
process ends when its input closes, however busy the reward is.
"""
import asyncio
import inspect
import json
import math
import os
import queue
import signal
import sys
import threading
import time
import traceback
import types

lines_in, lines_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.stdout = sys.stderr

# The program decides when the process ends; children of the reward keep the usual handlers.
SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
           if hasattr(signal, n)]
for number in SIGNALS:
    signal.signal(number, lambda *_: None)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        after_in_child=lambda: [signal.signal(number, signal.SIG_DFL) for number in SIGNALS])

received = queue.Queue()
loop = asyncio.new_event_loop()
path, function, shape = "", None, None


class Wrong(Exception):
    """A message that needs no line of the file."""


class Late(Wrong):
    """The time limit ended it."""


def read():
    for line in lines_in:
        received.put(json.loads(line))
    os._exit(0)


def send(messages):
    lines_out.write(json.dumps(messages).encode() + b"\n")
    lines_out.flush()


def explain(error):
    """The message of an exception, with the last line of the reward's own file."""
    if isinstance(error, Wrong):
        return str(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
          if frame.filename == path]
    file = os.path.basename(path)
    return f"{text} ({file}, line {at[-1]})" if at and f"({file}, line" not in text else text


class Shape:
    """What a function takes: the names of its parameters, and for which project it is written."""

    def __init__(self, name, call):
        self.name = name
        try:
            parameters = inspect.signature(call).parameters.values()
        except ValueError:
            parameters = []
        self.any = not parameters or any(p.kind == p.VAR_KEYWORD for p in parameters)
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.required = [p.name for p in parameters if p.name in self.names and p.default is p.empty]
        self.one = "solution_str" in self.names
        self.verl = self.one or "solution_strs" in self.names
        self.is_async = any(map(inspect.iscoroutinefunction, (call, getattr(call, "__call__", None))))

    def arguments(self, given):
        missing = [name for name in self.required if name not in given]
        if missing:
            names = ", ".join(name for name in given if name not in ("log_extra", "log_metric"))
            raise Wrong(f"{self.name} needs {', '.join(missing)}, found only {names}")
        return given if self.any else {name: given[name] for name in given if name in self.names}


def load(spec):
    global path, function, shape
    path = os.path.abspath(spec["path"])
    sys.path[:1] = [os.path.dirname(path), os.getcwd()]
    name = os.path.splitext(os.path.basename(path))[0]
    module = types.ModuleType("reward_file" if name in sys.modules else name)
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(spec["source"], path, "exec", dont_inherit=True), module.__dict__)
    own = [key for key, value in vars(module).items()
           if inspect.isfunction(value) and value.__module__ == module.__name__
           and not key.startswith("_")]
    name = spec["function"] or (own[0] if len(own) == 1 else "compute_score")
    function = getattr(module, name, None)
    if not callable(function):
        has = f"its functions are {', '.join(own)}" if own else "it has no functions"
        if spec["function"] is None and own:
            raise Wrong(f"{has}: name one with `function`")
        raise Wrong(f"there is no function {name}; {has}")
    shape = Shape(name, function)
    needs = ["completionIds"] if "completion_ids" in shape.required else []
    return {"wholeBatch": not shape.one, "needs": needs}


def number(value):
    if value is None:
        return None
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError):
        shown = repr(value)
        shown = shown if len(shown) <= 40 else shown[:39] + "…"
        raise Wrong(f"returned {shown}, a finite number or None is expected") from None
    if math.isinf(result):
        raise Wrong(f"returned {result}, a finite number or None is expected")
    return None if math.isnan(result) else result


def cell(value):
    """A value of a table, as JSON has it."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def scored(value, logged=(), extras=()):
    """The result of a sample. verl's functions may return {"score": …} and further facts."""
    logged, extras = list(logged), list(extras)
    if isinstance(value, dict):
        if "score" not in value:
            raise Wrong(f"returned {{{', '.join(map(str, value))}}}, which has no score")
        extras += [(str(key), cell(one)) for key, one in value.items() if key != "score"]
        value = value["score"]
    return {"result": {"value": number(value)}, "logged": logged, "extras": extras, "cost": 0}


def failed(error):
    late = isinstance(error, Late)
    return {"result": {"error": explain(error)}, "late": late, "logged": [], "extras": [], "cost": 0}


async def in_time(value, seconds):
    try:
        return await asyncio.wait_for(value, seconds)
    except asyncio.TimeoutError:
        raise Late(f"gave no value within {seconds:g} s") from None


def pause(attempt, seconds):
    return min(0.5 * 2 ** attempt, seconds)


def call(given, seconds, retries):
    for attempt in range(retries + 1):
        try:
            value = function(**shape.arguments(given))
            if inspect.isawaitable(value):
                value = loop.run_until_complete(in_time(value, seconds))
            return value
        except Exception as error:
            if attempt == retries or isinstance(error, Wrong):
                raise
            time.sleep(pause(attempt, seconds))


def batch_arguments(items, params, logged, extras):
    names = dict.fromkeys(name for item in items for name in item["columns"])
    given = {name: [item["columns"].get(name) for item in items] for name in names}
    for name in ("prompt", "completion"):
        given[name + "s"] = [item[name] for item in items]
    given["completion_ids"] = [item["completion_ids"] for item in items]
    given["trainer_state"] = types.SimpleNamespace(**items[0]["trainer_state"])

    def log_extra(column, values):
        if len(values) != len(items):
            raise Wrong(f"log_extra: {column}: {len(values)} values for {len(items)} completions")
        for row, value in zip(extras, values):
            row.append((column, cell(value)))

    def log_metric(name, value):
        logged.append((name, number(value)))

    return {**given, "log_extra": log_extra, "log_metric": log_metric, **params}


def do_batch(items, params, limits):
    """The results of a function that takes all samples of a batch."""
    logged, extras = [], [[] for _ in items]
    if shape.verl:
        given = {name + "s": [item["verl"][name] for item in items] for name in items[0]["verl"]}
        given.update(params)
    else:
        given = batch_arguments(items, params, logged, extras)
    values = call(given, limits["timeout"] * len(items), limits["retries"])
    try:
        values = list(values)
    except TypeError:
        raise Wrong(f"returned {type(values).__name__}, a list of {len(items)} is expected") from None
    if len(values) != len(items):
        raise Wrong(f"returned {len(values)} values for {len(items)} completions")
    results = []
    for value, row in zip(values, extras):
        try:
            results.append(scored(value, [] if results else logged, row))
        except Wrong as error:
            results.append(failed(error))
    return results


def do_work(work):
    batch, limits, params = work["batch"], work["limits"], work["params"]
    rows = [item["row"] for item in work["items"]]
    items = [item["item"] for item in work["items"]]
    done = lambda row, result: {"type": "done", "batch": batch, "row": row, "result": result}
    started = lambda row: {"type": "started", "batch": batch, "row": row}
    if not shape.one:
        try:
            results = do_batch(items, params, limits)
        except BaseException as error:
            results = [failed(error)] * len(items)
        return send([done(row, result) for row, result in zip(rows, results)])

    def one(item):
        try:
            return scored(call({**item["verl"], **params}, limits["timeout"], limits["retries"]))
        except BaseException as error:
            return failed(error)

    async def one_async(row, item, lanes):
        async with lanes:
            send([started(row)])
            for attempt in range(limits["retries"] + 1):
                try:
                    given = shape.arguments({**item["verl"], **params})
                    result = scored(await in_time(function(**given), limits["timeout"]))
                except BaseException as error:
                    result = failed(error)
                    if attempt < limits["retries"] and not result["late"]:
                        await asyncio.sleep(pause(attempt, limits["timeout"]))
                        continue
                return send([done(row, result)])

    async def all_async():
        lanes = asyncio.Semaphore(limits["concurrency"])
        await asyncio.gather(*(one_async(*sample, lanes) for sample in zip(rows, items)))

    if shape.is_async:
        return loop.run_until_complete(all_async())
    for row, item in zip(rows, items):
        send([started(row)])
        send([done(row, one(item))])


asyncio.set_event_loop(loop)
threading.Thread(target=read, daemon=True).start()
while True:
    message = received.get()
    if message["type"] == "work":
        do_work(message)
        continue
    try:
        send([{"type": "loaded", "about": load(json.loads(message["url"]))}])
    except BaseException as error:
        send([{"type": "broken", "message": explain(error)}])
