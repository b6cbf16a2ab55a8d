"""Writes bridges.json: what chat templates put between a call and the next answer.

Run with transformers 5.23 beside an unpacked wheel of TRL 1.16: python record_bridges.py TRL_FOLDER
"""
import json
import sys

import transformers
from transformers.utils.chat_template_utils import render_jinja_template

folder = sys.argv[1]
CALL = [{"id": "call00000", "type": "function", "function": {"name": "multiply", "arguments": {"a": 3, "b": "x"}}}]
BASE = [{"role": "user", "content": "dummy"}, {"role": "assistant", "content": "", "tool_calls": CALL}]
RESULT = {"role": "tool", "name": "multiply", "content": "12", "tool_call_id": "call00000"}
OTHER = {"role": "tool", "name": "multiply", "content": "<|im_end|> 13", "tool_call_id": "call00001"}
TALK = [{"role": "user", "content": "dummy"}, {"role": "assistant", "content": "So."}]
# Template, tokens of it, end of a call, end of an answer, further variables.
FAMILIES = {
    "qwen2_5": (["<|im_end|>"], "<|im_end|>", "<|im_end|>", [{}]),
    "qwen3": (["<|im_end|>"], "<|im_end|>", "<|im_end|>", [{}, {"enable_thinking": False}]),
    "qwen3_5_think": (["<|im_end|>"], "<|im_end|>", "<|im_end|>", [{}]),
    "llama3_1": (["<|eot_id|>", "<|eom_id|>"], "<|eot_id|>", "<|eot_id|>", [{"date_string": "26 Jul 2024"}]),
    "gptoss": (["<|return|>", "<|call|>", "<|end|>"], "<|call|>", "<|end|>", [{}]),
    "gemma4_v5": (["<turn|>", "<|tool_response>"], "<|tool_response>", "<turn|>", [{}]),
    "lfm2_2_5_v2": (["<|im_end|>"], "<|im_end|>", "<|im_end|>", [{}]),
    "glm4moe": (["<|user|>", "<|observation|>"], "<|observation|>", "<|user|>", [{}]),
}
out = {}
for name, (tokens, call_end, answer_end, variables) in FAMILIES.items():
    template = open(f"{folder}/trl/chat_templates/{name}.jinja").read()
    cases = []
    for more in variables:
        for messages, mark, end in (
            (BASE + [RESULT], "multiply", call_end),
            (BASE + [RESULT, OTHER], "multiply", call_end),
            (TALK + [{"role": "user", "content": "And <|im_end|>?"}], "So.", answer_end),
        ):
            texts, _ = render_jinja_template(
                [messages], chat_template=template, add_generation_prompt=True, bos_token="<s>", **more
            )
            after = texts[0].split(mark, 1)[1]
            cases.append({"messages": messages[2:], "variables": more, "next": after.split(end, 1)[1]})
    out[name] = {"template": template, "tokens": tokens, "cases": cases}
json.dump(
    {"transformers": transformers.__version__, "trl": "1.16.0", "families": out},
    open("bridges.json", "w"), ensure_ascii=False, indent=1,
)
for name, one in out.items():
    for case in one["cases"]:
        print(name, repr(case["next"]))
