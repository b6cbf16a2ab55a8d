"""Records the token ids, tool_mask and metrics inputs of TRL 1.16's tool loop without a model:
GRPOTrainer._tool_call_loop runs on a plain namespace, the generator is scripted."""
import os, sys, json, types, asyncio, threading
os.environ["TRL_EXPERIMENTAL_SILENCE"]="1"; os.environ["HF_HUB_OFFLINE"]="1"; os.environ["OMP_NUM_THREADS"]="1"
import torch; torch.set_num_threads(1)
import trl, transformers
from transformers import AutoTokenizer
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.chat_template_utils import add_response_schema, parse_response, get_training_chat_template
import trl.chat_template_utils as ctu
D=os.path.join(os.path.dirname(trl.__file__),"chat_templates")
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, AddedToken
from transformers import PreTrainedTokenizerFast
alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())
bt=Tokenizer(models.BPE(vocab={c:i for i,c in enumerate(alphabet)},merges=[]))
bt.pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False,use_regex=False); bt.decoder=decoders.ByteLevel()
bt.add_special_tokens([AddedToken(t,special=True,normalized=False) for t in ["<|endoftext|>","<|im_start|>","<|im_end|>"]])
bt.add_tokens([AddedToken(t,special=False,normalized=False) for t in ["<tool_call>","</tool_call>","<tool_response>","</tool_response>","<think>","</think>"]])
tok=PreTrainedTokenizerFast(tokenizer_object=bt,eos_token="<|im_end|>",pad_token="<|endoftext|>",additional_special_tokens=["<|im_start|>"])
tok.chat_template=open(f"{D}/qwen3.jinja").read()
add_response_schema(tok)
train_template=get_training_chat_template(tok)
loop=asyncio.new_event_loop(); threading.Thread(target=loop.run_forever,daemon=True).start()
def multiply(a:int,b:int)->int:
    """Multiplies.

    Args:
        a: first
        b: second
    """
    return a*b
async def amultiply(a:int,b:int)->int:
    """Multiplies.

    Args:
        a: first
        b: second
    """
    return a*b
def long(n:int)->str:
    """Long text.

    Args:
        n: how many words
    """
    return "word "*n
def yes()->bool:
    """Says yes."""
    return True
def rec()->dict:
    """A record."""
    return {"x":1,"ok":None,"s":"it's"}
TOOLS=[multiply,amultiply,long,yes,rec]
def enc(s): return tok(s,add_special_tokens=False)["input_ids"]
def call(n,a): return '<tool_call>\n'+json.dumps({"name":n,"arguments":a})+'\n</tool_call>'
def case(name,scripts,max_completion_length=256,max_iter=None):
    """scripts: per rollout, list of texts, one per generation"""
    n=len(scripts)
    prompts=[[{"role":"user","content":f"q{i}"}] for i in range(n)]
    prompt_ids=[tok.apply_chat_template(p,tools=TOOLS,add_generation_prompt=True,tokenize=True,return_dict=False,chat_template=train_template) for p in prompts]
    first=[enc(s[0]) for s in scripts]
    cursor=[1]*n
    log=[]
    def gen(ids,images,mm,num_generations=1,has_tool_images=False):
        outs=[]
        for x in ids:
            i=next(k for k in range(n) if x[:len(prompt_ids[k])]==prompt_ids[k])
            outs.append(enc(scripts[i][cursor[i]] if cursor[i]<len(scripts[i]) else 'UNEXPECTED<|im_end|>')); cursor[i]+=1
        log.append([len(x) for x in ids])
        return outs,[[-0.5]*len(o) for o in outs]
    ns=types.SimpleNamespace(max_tool_calling_iterations=sys.maxsize if max_iter is None else max_iter,
      _sync_tool_dicts=[{t.__name__:t for t in TOOLS if not asyncio.iscoroutinefunction(t)}]*n,
      _async_tool_dicts=[{t.__name__:t for t in TOOLS if asyncio.iscoroutinefunction(t)}]*n,
      async_loop=loop,use_vllm=False,vllm_mode="server",_is_vlm=False,
      model=types.SimpleNamespace(config=types.SimpleNamespace(max_position_embeddings=8192)),
      max_completion_length=max_completion_length,tools=TOOLS,processing_class=tok,_tokenizer=tok,
      chat_template=train_template,chat_template_kwargs={},environment_factories=None,_generate_single_turn=gen)
    ns._get_tool_suffix_ids=lambda m: GRPOTrainer._get_tool_suffix_ids(ns,m)
    completions=[[parse_response(tok,ids,prefix=p,tools=TOOLS)] for ids,p in zip(first,prompt_ids)]
    import copy
    completion_ids=[list(x) for x in first]
    mask,comps,cids,lps,calls,fails,_=GRPOTrainer._tool_call_loop(ns,prompts,prompt_ids,completion_ids,completions,[[-0.5]*len(x) for x in first],None,{})
    eos=tok.eos_token_id
    r={"case":name,"max_completion_length":max_completion_length,"max_tool_calling_iterations":max_iter,"scripts":scripts,
       "prompt_text":[tok.decode(p) for p in prompt_ids],
       "completion_text":[tok.decode(c) for c in cids],"completion_ids":cids,"tool_mask":mask,"logprobs":lps,"messages":comps,
       "calls":calls,"failures":fails,"call_frequency":calls/n,"failure_frequency":(fails/calls if calls else 0.0),
       "masked_lengths":[sum(m) for m in mask],"is_truncated":[c[-1]!=eos for c in cids],"regeneration_prompt_lengths":log}
    return r
E="<|im_end|>"
cases=[
 case("trl_test_train_with_tools",[[call("multiply",{"a":3,"b":4})+E,"Done!"+E],[call("multiply",{"a":3,"c":4})+E,"Done!"+E],["I don't know any tool"+E]]),
 case("two_calls_one_turn",[["Two."+call("multiply",{"a":3,"b":4})+"\n"+call("multiply",{"a":5,"b":6})+E,"12 and 30"+E]]),
 case("sync_before_async",[[call("amultiply",{"a":3,"b":4})+"\n"+call("multiply",{"a":5,"b":6})+E,"ok"+E]]),
 case("unknown_tool",[[call("nope",{})+E,"ok"+E]]),
 case("malformed_json",[['<tool_call>\n{"name": "multiply", "arguments": {"a": 3\n</tool_call>'+E]]),
 case("unclosed_call",[['<tool_call>\n{"name": "multiply", "arguments": {"a": 3, "b": 4}}']]),
 case("no_arguments_key",[['<tool_call>\n{"name": "yes"}\n</tool_call>'+E,"ok"+E]]),
 case("python_reprs",[[call("yes",{})+"\n"+call("rec",{})+E,"ok"+E]]),
 case("string_for_integer",[[call("multiply",{"a":"3","b":"4"})+E,"ok"+E]]),
 case("overlong_result_rolled_back",[[call("long",{"n":400})+E,"never"+E]],max_completion_length=128),
 case("answer_cut_to_budget",[[call("multiply",{"a":3,"b":4})+E,"a very long answer "*20+E]],max_completion_length=100),
 case("result_exactly_fills_budget",[[call("multiply",{"a":3,"b":4})+E,"12"+E]],max_completion_length=82),
 case("iteration_cap",[[call("multiply",{"a":3,"b":4})+E,call("multiply",{"a":5,"b":6})+E,"never"+E]],max_iter=1),
 case("three_turns",[[call("multiply",{"a":3,"b":4})+E,call("multiply",{"a":5,"b":6})+E,"30"+E]]),
 case("thinking_then_call",[["<think>\nI use the tool.\n</think>\n\n"+call("multiply",{"a":3,"b":4})+E,"<think>\n12.\n</think>\n\n12"+E]]),
 case("no_eos_after_call",[[call("multiply",{"a":3,"b":4}),"12"+E]]),
]
rows=[{**{k:c[k] for k in ("case","max_completion_length","max_tool_calling_iterations","scripts","completion_ids","calls","failures")},
       "tool_mask":["".join(map(str,m)) for m in c["tool_mask"]]} for c in cases]
with open("tool-loops.json","w") as f:
    f.write(json.dumps({"trl":trl.__version__,"transformers":transformers.__version__})[:-1]+',"cases":[\n'+",\n".join(json.dumps(r,ensure_ascii=False,separators=(",",":")) for r in rows)+"\n]}\n")
