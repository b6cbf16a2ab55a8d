"""Prefill and decoding in llama.cpp, for `deno task bench:peers`.

The argument is JSON: a GGUF file, the number of threads, the tokens of the prompt, the number of
sequences that are decoded together, and their new tokens. Prints a line of JSON when it is ready.
For every line on stdin it measures one round, and prints tokens per second of wall-clock time and
of processor time, and the peak of the process's resident memory. As in llama-bench nothing is
sampled: the tokens are made up, which takes the same time. With `quantize`, the given file is
first converted to Q4_0, which llama.cpp repacks for the processor when it loads the file.
"""
import json
import sys
import time

import llama_cpp as llama

job = json.loads(sys.argv[1])
silence = llama.llama_log_callback(lambda level, text, data: None)
llama.llama_log_set(silence, None)
llama.llama_backend_init()
path = job["model"]
if job.get("quantize"):
    params = llama.llama_model_quantize_default_params()
    params.ftype = llama.LLAMA_FTYPE_MOSTLY_Q4_0
    params.allow_requantize = True
    params.pure = False
    if llama.llama_model_quantize(path.encode(), job["quantize"].encode(), params) != 0:
        sys.exit("llama.cpp did not quantise the file")
    path = job["quantize"]

model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
sequences, new_tokens, prompt_tokens = job["sequences"], job["newTokens"], job["promptTokens"]
params = llama.llama_context_default_params()
params.n_seq_max = sequences
params.n_ctx = max(prompt_tokens * sequences, 2 * new_tokens * sequences)
params.n_batch = params.n_ubatch = prompt_tokens
params.n_threads = params.n_threads_batch = job["threads"]
params.no_perf = True
context = llama.llama_init_from_model(model, params)
batch = llama.llama_batch_init(max(prompt_tokens, sequences), 0, 1)


def decode(rows):
    """rows: (token, position, sequence, whether its logits are wanted)"""
    batch.n_tokens = len(rows)
    for i, (token, position, sequence, wanted) in enumerate(rows):
        batch.token[i] = token % vocab
        batch.pos[i] = position
        batch.n_seq_id[i] = 1
        batch.seq_id[i][0] = sequence
        batch.logits[i] = wanted
    if llama.llama_decode(context, batch) != 0:
        sys.exit("llama_decode failed")
    llama.llama_synchronize(context)


def rate(tokens, work):
    llama.llama_memory_clear(llama.llama_get_memory(context), True)
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "clock": tokens / (time.perf_counter() - clock),
        "cpu": tokens / (time.process_time() - cpu),
    }


def prefill():
    decode([(7 * i, i, 0, i == prompt_tokens - 1) for i in range(prompt_tokens)])


def steps(count):
    for position in range(new_tokens):
        decode([(31 * s + 7 * position, position, s, True) for s in range(count)])


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


print(json.dumps({"version": f"llama-cpp-python {llama.__version__}"}), flush=True)
for _ in sys.stdin:
    print(json.dumps({
        "prefill": rate(prompt_tokens, prefill),
        "one": rate(new_tokens, lambda: steps(1)),
        "many": rate(sequences * new_tokens, lambda: steps(sequences)),
        "peakBytes": peak_bytes(),
    }), flush=True)
