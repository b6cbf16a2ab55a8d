"""Records answers.json: what TRL's templates for training make of dialogues, and which parts they
mark as the assistant's (assistant_only_loss). Needs trl 1.16 (its files alone) and transformers."""
import json
import pathlib
import sys

from transformers.utils.chat_template_utils import render_jinja_template

here = pathlib.Path(__file__).parent
templates = pathlib.Path(sys.argv[1])  # trl/chat_templates of the package
NUMBER = {"type": "integer", "description": "a number"}
TOOL = {"type": "function", "function": {
    "name": "add",
    "description": "Adds numbers.",
    "parameters": {
        "type": "object",
        "properties": {"x": NUMBER, "y": NUMBER},
        "required": ["x", "y"],
    },
}}


def call(number, **arguments):
    called = {"name": "add", "arguments": arguments}
    return {"role": "assistant", "content": "",
            "tool_calls": [{"id": f"call0000{number}", "type": "function", "function": called}]}


CALLS = [
    {"role": "user", "content": "What is 2 + 3 + 4?"},
    call(1, x=2, y=3),
    {"role": "tool", "name": "add", "content": "5", "tool_call_id": "call00001"},
    call(2, x=5, y=4),
    {"role": "tool", "name": "add", "content": "9", "tool_call_id": "call00002"},
    {"role": "assistant", "content": "It is 9."},
]
CHAT = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": "4"},
]
families = json.loads((here / "bridges.json").read_text())["families"]
rows = [{"messages": CALLS, "tools": [TOOL]}, {"messages": CHAT, "tools": None}]
recorded = {}
for family in ["qwen2_5", "qwen3", "qwen3_5_think", "glm4moe", "gptoss"]:
    template = (templates / f"{family}_training.jinja").read_text()
    recorded[family] = []
    # gpt-oss ends an answer with another token where a message follows it.
    for row in rows[: 1 if family == "gptoss" else 2]:
        (text,), (spans,) = render_jinja_template(
            [row["messages"]], tools=row["tools"], chat_template=template,
            return_assistant_tokens_mask=True, bos_token="<s>",
            eos_token=families[family]["tokens"][0],
        )
        recorded[family].append({
            "follows": text[spans[0][0]:],
            "answers": [text[begin:end] for begin, end in spans],
        })
(here / "answers.json").write_text(
    json.dumps({"rows": rows, "families": recorded}, indent=1) + "\n"
)
