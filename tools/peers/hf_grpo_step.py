"""One GRPO step in plain transformers and PEFT, for comparison in `deno task gpu:campaign`.

The argument is JSON: the sizes of the model and the shape of the step. Prints one line of JSON
with the seconds of the fastest of three steps, also by phase, and the peak of the card's memory.
The step uses bfloat16, `generate` of transformers, LoRA of rank 16 on all linear layers, and
AdamW. There is no padding, because all prompts have one length and all completions have one
length.
"""
import json
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import Qwen2Config, Qwen2ForCausalLM

shape = json.loads(sys.argv[1])
m = shape["model"]
config = Qwen2Config(
    vocab_size=m["vocabSize"],
    hidden_size=m["hiddenSize"],
    intermediate_size=m["intermediateSize"],
    num_hidden_layers=m["numLayers"],
    num_attention_heads=m["numHeads"],
    num_key_value_heads=m["numKvHeads"],
    max_position_embeddings=m["maxPositions"],
    rope_theta=m["ropeTheta"],
    rms_norm_eps=m["rmsNormEps"],
    tie_word_embeddings=m["tieWordEmbeddings"],
)
torch.manual_seed(0)
model = Qwen2ForCausalLM(config).to("cuda", torch.bfloat16)
linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=linear))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-6)

prompts, group = shape["prompts"], shape["completions"]
prompt_tokens, new_tokens = shape["promptTokens"], shape["newTokens"]
ids = torch.randint(0, m["vocabSize"], (prompts, prompt_tokens), device="cuda")
ids = ids.repeat_interleave(group, dim=0)
advantages = torch.tensor([1.0, -1.0], device="cuda").repeat(prompts * group // 2)[:, None]


def now():
    torch.cuda.synchronize()
    return time.perf_counter()


def one_step():
    marks = [now()]
    model.eval()
    with torch.no_grad():
        sequences = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            max_new_tokens=new_tokens,
            min_new_tokens=new_tokens,
            pad_token_id=0,
        )
    marks.append(now())
    model.train()
    logits = model(input_ids=sequences, logits_to_keep=new_tokens + 1).logits[:, :-1]
    completion = sequences[:, prompt_tokens:]
    logp = torch.log_softmax(logits.float(), dim=-1).gather(2, completion[..., None])[..., 0]
    ratio = torch.exp(logp - logp.detach())
    loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    loss.backward()
    marks.append(now())
    optimizer.step()
    optimizer.zero_grad()
    marks.append(now())
    return [b - a for a, b in zip(marks, marks[1:])]


torch.cuda.reset_peak_memory_stats()
times = min((one_step() for _ in range(3)), key=sum)
print(json.dumps({
    "seconds": sum(times),
    "phases": dict(zip(["generate", "forward + backward", "optimizer"], times)),
    "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    "torch": torch.__version__,
}))
