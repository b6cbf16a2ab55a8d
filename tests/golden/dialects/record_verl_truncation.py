"""Records how verl 0.9.1 shortens the results of tools: the rule of its
verl/experimental/agent_loop/tool_agent_loop.py, lines 499 to 506, on a few texts."""
import json
import os

TEXT = "abcdefghijklmnopqrstuvwxyz"


def truncated(text, length, side):
    if not text or len(text) <= length:
        return text
    if side == "left":
        return "(truncated)..." + text[-length:]
    if side == "right":
        return text[:length] + "...(truncated)"
    half = length // 2
    return text[:half] + "...(truncated)..." + text[-half:]


cases = [
    {"text": text, "length": length, "side": side, "result": truncated(text, length, side)}
    for text in (TEXT, "", "ab")
    for length in (2, 5, 6, 25, 26)
    for side in ("left", "middle", "right")
]
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verl-truncation.json")
with open(path, "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
