/** The flags, examples and notes of all commands, as `flags.ts` reads them. */

/** The forms in which a command takes its model. */
const MODEL_KINDS = "a Hugging Face folder, a GGUF file, a checkpoint or an adapter";

const MACHINE = {
  device: "text <name> -- auto, webgpu, vulkan, wasm or reference",
  threads: "int>=1 <n> -- threads of the wasm device",
  native: "off -- only WASM kernels on the wasm device (as RGX_NATIVE=0)",
} as const;

/** The type of both sides of matrix products. */
export const COMPUTE_DTYPE = {
  computeDtype: `one float32|bfloat16|float16 <type> -- bfloat16, float16: products round both
    sides, as the key of training (default float32)`,
} as const;

/** How inputs of products with 4-bit weights, and keys and values, are represented. */
export const ACTIVATIONS = {
  activations: `one float32|int8 <type> -- int8: 4-bit weights times rounded inputs, faster and a
    little less exact (default float32)`,
  kvCacheDtype: `one float32|bfloat16 <type> -- bfloat16: keys and values in half of the memory,
    rounded; only on a CPU (default float32)`,
} as const;

/** Where and how a model computes. */
export const DEVICE = { ...COMPUTE_DTYPE, ...MACHINE } as const;

/** The types in which the weights of a model are held. */
export const WEIGHTS = {
  "Weights and device:": "",
  dtype: `one auto|float32|float16|bfloat16 <type> -- what the weights are held in; auto: as they
    are stored`,
  loadIn8bit: "flag -- quantise the linear layers when they are loaded",
  loadIn4bit: "flag -- the same in 4 bits (NF4)",
} as const;

/** How tokens are drawn, of commands that show texts. */
export const DRAWING = {
  topP: "number>0<=1 <p> = 1 -- 1 = off",
  topK: "int>=0 <k> = 0 -- 0 = off",
  minP: "number>=0<=1 <p> = 0 -- 0 = off",
  repetitionPenalty: "number>=0.01<=100 <x> = 1 -- of tokens seen before; 1 = off",
  seed: "int>=0 <n> = 42 -- seed of the draws",
} as const;

/** A card of another machine, to plan for. */
export const CARD = {
  gpu: "text <name> -- plan for this card, which need not be here: h100-80gb, rtx4090",
  deviceMemory: "text <size> -- plan for any card with this memory: 80GB, 24GiB",
} as const;

/** Rewards in Python run only with it. */
export const PYTHON = {
  allowPython: "flag -- let rewards in Python run, which have all your rights (docs/rewards.md)",
} as const;

export const INIT = {
  "About:": "make a project that runs at once: configuration, reward, job script",
  "[folder]": "= . -- where; it is made if it is not there",
  task: "text <name> -- problems of a task, or of a task file such as ./digit_sum.ts",
  data: "text <path> -- problems of your own: a JSONL or parquet file, or a folder of them",
  reward: "text <name> = short_answer -- name of the reward's file; NAME.py: in Python",
  json: "flag -- one JSON document",
  "Examples:": `
    rgx init my_project
    rgx init sums --task chain_sum
    rgx init digits --task ./digit_sum.ts
    rgx init mine --data problems.jsonl --reward politeness`,
} as const;

export const SWEEP = {
  "About:": "train with every combination of some values, on this machine",
  "<config>": "a YAML file or the name of an embedded config",
  "[overrides...]": "key=a,b tries each of these values; key=value is the same in all runs",
  jobs: "text <n> = 1 -- runs at once, or auto: as many as cores and memory allow",
  ...PYTHON,
  outputDir: "text <folder> -- where the runs' folders are made",
  device: "text <name> -- auto, webgpu, vulkan, wasm or reference",
  json: "flag -- one JSON document",
  "Examples:": `
    rgx sweep quickstart training.learning_rate=1e-3,2e-3 training.seed=1,2,3
    rgx sweep my.yaml lora.r=4,16,64 training.max_steps=200 --jobs auto`,
  "After:": `
    The same command again goes on: completed runs are kept, stopped ones resumed.
    On a cluster, rgx slurm CONFIG ACCOUNT --sweep key=a,b makes an array job.`,
} as const;

export const TASKS_SAMPLE = {
  "About:": "entries of a task as JSONL: question, answer, metadata",
  "<name>": "task name, or a task file",
  size: "int>=0 <n> = 5 -- how many",
  seed: "int>=0 <n> = 42 -- seed of the data set",
  offset: "int>=0 <i> = 0 -- index of the first entry",
  split: "text <name> = train -- train, validation or test",
  set: "texts <k=v> -- a parameter of the task (repeatable)",
  level: "int>=0 <n> -- curriculum level of every attribute",
  setLevel: "texts <attr=n> -- curriculum level of one attribute (repeatable)",
  "Examples:": `
    rgx tasks sample leg_counting --size 3 --seed 7
    rgx tasks sample chain_sum --set min_terms=2 --set max_terms=2
    rgx tasks sample spell_backward --level 2 --split test`,
} as const;

export const TASKS_EXPORT = {
  "About:": "data sets of tasks as files, in the rows that other trainers read",
  "[names...]": "task names, or task files; none with --from-run",
  fromRun: "text <folder> -- the right answers of a run, as prompts and completions",
  best: "one shortest|all [which] -- of these the shortest of each prompt (default), or all",
  output: "text! <file> -- ….jsonl or ….parquet; {split} in it: a file for each split",
  splits: "text <sizes> = train=500 -- entries of each task: train=N,validation=N,test=N",
  format: "text <name> = raw -- raw, chat, verl or trl",
  seed: "int>=0 <n> = 42 -- seed of the data sets",
  set: "texts <k=v> -- a parameter (repeatable); of several tasks: NAME.k=v",
  level: "int>=0 <n> -- curriculum level of every attribute",
  setLevel: "texts <attr=n> -- level of one attribute (repeatable)",
  system: "text <text> -- system message, or the name of a built-in one (not raw)",
  systemRole: "one system|developer|user <role> = system -- role of the system message",
  instructions: "off -- leave the answer-format instruction out (not raw)",
  "Examples:": `
    rgx tasks export --from-run runs/a --best --output best.jsonl
    rgx tasks export chain_sum --output sums.jsonl --splits train=1000,test=100
    rgx tasks export leg_counting word_ladder --format verl --output '{split}.parquet' \\
          --splits train=5000,test=200`,
  "After:": `
    A question of test or validation is not asked in train, where a task has enough
    of them.`,
} as const;

const ENV_FILE = "a file with an environment or tools (.ts, .py), or a configuration with them";
const ENV_NAME = "text <name> -- which environment of a configuration with several";
const ENV_ROW = "text <json> -- columns of the row of the data that the environment gets";

export const ENV_CHECK = {
  "About:": "try an environment: its parts, starts, the same dialogue for the same seed, its speed",
  "<file>": ENV_FILE,
  name: ENV_NAME,
  starts: "int>=1 <n> = 100 -- seeds to begin with",
  row: ENV_ROW,
  json: "flag -- one JSON document",
  "Examples:": `
    rgx env check guess.ts
    rgx env check solve.ts --row '{"question": "2 + 2"}' --json`,
  "After:": "Exit code 1 if a call fails, or a dialogue differs when it is played again.",
} as const;

export const ENV_PLAY = {
  "About:": "play with an environment: each line is a message, /TOOL {…} calls a tool",
  "<file>": ENV_FILE,
  name: ENV_NAME,
  seed: "int>=0 <n> = 0 -- seed of the start",
  row: ENV_ROW,
  "Examples:": "rgx env play guess.ts\nrgx env play guess.ts --seed 7",
} as const;

export const ENV_SERVE = {
  "About:": "serve an environment as OpenEnv does, for its clients and other trainers",
  "<file>": ENV_FILE,
  name: ENV_NAME,
  port: "int>=0<=65535 <n> -- 0: any free port (default 8000)",
  host: "text <address> -- 0.0.0.0: reached from other machines (default 127.0.0.1)",
  maxSessions: "int>=1 <n> -- dialogues at the same time (default 100)",
  "Examples:": "rgx env serve guess.ts\nrgx env serve guess.ts --port 8001",
  "After:": "The address is ws://HOST:PORT. Ctrl-C ends it.",
} as const;

export const ENV_REPLAY = {
  "About:": "play the dialogues of a run again, and name each answer that differs",
  "<transcript>": "transcript.jsonl, or the folder of a run",
  environment: "text <file> -- the environment; default: that of the run's configuration",
  config: "text <file> -- a configuration; default: config.yaml beside the transcript",
  json: "flag -- one JSON document: dialogues, exchanges, different",
  "Examples:": `
    rgx env replay experiments/mine
    rgx env replay experiments/mine/transcript.jsonl --environment guess.ts`,
  "After:": "Exit code 1 if an answer differs. Calls that were too late are left out.",
} as const;

export const ENV_NEW = {
  "About:": "write a file to begin an environment with",
  "<file>": "the name of the file",
  tools: "flag -- tools instead of an environment",
  python: "flag -- an environment in Python, which needs no package",
  "Examples:": `
    rgx env new guess.ts
    rgx env new calculator.ts --tools
    rgx env new guess.py --python`,
} as const;

/** The model, its storage type, and the device. */
export const MODEL = {
  model: "text <model> -- the same as a flag",
  adapter: "texts <folder> -- a PEFT adapter, or one of llama.cpp, for the model (repeatable)",
  ...WEIGHTS,
  ...DEVICE,
} as const;

export const GENERATE = {
  "About:": "text from a model",
  "[model]": MODEL_KINDS,
  "[-]": "the prompt comes from stdin, as without --prompt and --file",
  ...MODEL,
  "Prompt:": "",
  prompt: "text <text> -- the prompt",
  file: "text <path> -- a file with the prompt; - or nothing: stdin",
  idsFile: "text <path> -- a JSON array of token ids instead of a text",
  chat: "flag -- render the prompt by the model's chat template",
  system: "text <text> -- system message, or the name of a built-in one (with --chat)",
  chatTemplateKwargs: `text <json> -- values for the chat template, for example
    {"enable_thinking": false} (with --chat)`,
  "Sampling:": "",
  ignoreEos: "flag -- go on past the end token",
  maxNewTokens: "int>=1<=1048575 <n> = 256 -- tokens generated at most",
  minNewTokens: "int>=0 <n> = 0 -- no end before so many tokens",
  stop: "texts <text> -- end after this text, which is kept (repeatable)",
  jsonSchema: "text <file> -- only JSON that this schema accepts (docs/serve.md)",
  regex: "text <pattern> -- only texts that the whole pattern matches",
  temperature: "number>=0<=100 <t> = 1 -- 0 is greedy",
  ...DRAWING,
  n: "int>=1<=4096 <n> = 1 -- completions",
  "A server, and the output:": "",
  baseUrl: "text <url> -- an OpenAI-compatible server; --model is then a model's name there",
  apiKeyEnv: "text <name> -- variable with its key (default: OPENAI_API_KEY)",
  ...ACTIVATIONS,
  quiet: "flag -- the text alone: no notes, no speed",
  json: "flag -- a JSON document (for each adapter) with ids, log-probabilities and speed",
  "Examples:": `
    rgx generate experiments/quickstart --prompt "Reverse the letters: deno"
    rgx generate --model ./tiny-llama --file prompt.txt --temperature 0 --json
    rgx generate --base-url http://127.0.0.1:8000 --model mine --chat --prompt Hello`,
} as const;

export const LOGPROBS = {
  "About:": "log-probabilities of given tokens",
  "[model]": MODEL_KINDS,
  ...MODEL,
  "Tokens:": "",
  idsFile: "text <path> -- a JSON array of token ids (- = stdin), after --prompt if there is one",
  prompt: "text <text> -- or a prompt …",
  completion: "text <text> -- … and what follows it",
  top: "int>=0 <k> = 0 -- the k likeliest tokens at each position",
  json: "flag -- a JSON document (for each adapter)",
  "Examples:": `
    rgx logprobs --model ./tiny-llama --ids-file ids.json --top 5 --json
    rgx logprobs --model ./tiny-llama --prompt "Once upon" --completion " a time"`,
} as const;

export const EXPORT = {
  "About:": "a trained model for other programs: PEFT adapter, Hugging Face folder or GGUF",
  "<checkpoint>": "a run, a checkpoint, an adapter or any model",
  to: `one adapter|hf|gguf <format> -- adapter: as PEFT has it; hf: merged into its base; gguf:
    one file; default: a whole model in one folder, as it is`,
  dtype: `one f32|f16|bf16|q8_0|q4_0|q6_k|q4_k_m <type> -- default: as the base is stored; q* for
    gguf only`,
  imatrix: "text <file> -- llama.cpp's importance matrix, for q4_k_m and q6_k",
  output: `text! <path> -- a new folder; for gguf a file ending with .gguf, or a folder; an adapter
    for llama.cpp is such a file, too`,
  force: "flag -- replace the model that is there",
  json: "flag -- one JSON document: path, format, dtype, bytes, notes",
  "Examples:": `
    rgx export runs/a --to adapter --output my-adapter
    rgx export runs/a/checkpoint-50 --to hf --dtype bf16 --output my-model
    rgx export runs/a --to gguf --dtype q8_0 --output my-model.gguf`,
  "After:": `
    With q8_0 and q4_0, vectors stay f32, matrices whose rows are no multiples of 32
    weights become f16, and the output head of a q4_0 file is q8_0. q4_k_m is
    llama.cpp's mix of Q4_K and Q6_K; rows that are no multiples of 256 weights
    become q8_0.`,
} as const;

export const CONVERT = {
  "About:": "as rgx export without --to: GGUF, shards, .bin or verl's parts as a folder",
  "<source>": "a GGUF file, a model folder, or a checkpoint of verl",
  output: "text! <folder> -- a new folder",
  force: EXPORT.force,
  json: EXPORT.json,
  "Examples:": `
    rgx convert SmolLM2-135M-Instruct.Q4_1.gguf --output smollm2
    rgx convert ./sharded-model --output ./one-file
    rgx convert ./global_step_100/actor --output ./trained`,
  "After:": "Types stay as they are; quantised weights become f32, which holds them exactly.",
} as const;

export const PULL = {
  "About:": "a model or data set from the Hugging Face Hub into the local cache",
  "<repository>": "ORG/NAME, with @REVISION (branch, tag or commit) or without",
  "[files...]": "only these files, by name or pattern",
  dataset: "flag -- a data set, not a model",
  revision: "text <name> -- branch, tag or commit; as @REVISION",
  include: "texts <pattern> -- only files that match, such as '*.gguf' (repeatable)",
  exclude: "texts <pattern> -- not the files that match (repeatable)",
  maxWorkers: "int>=1<=64 <n> = 4 -- downloads at once",
  verify: "flag -- check the files that are there already, and fetch damaged ones again",
  dryRun: "flag -- only say which files would be fetched, and how large they are",
  json: "flag -- one JSON document: commit, path, files, bytes",
  quiet: "flag -- warnings and errors only",
  verbose: "flag -- more detail, and stacks of errors",
  "Examples:": `
    rgx pull HuggingFaceTB/SmolLM2-135M-Instruct
    rgx pull org/name-GGUF model.Q4_0.gguf
    rgx pull --dataset openai/gsm8k --include 'main/*'`,
  "After:": `
    Of a model: configuration, tokenizer and safetensors; of a data set: parquet and
    JSON Lines; other files when they are named. The cache is huggingface_hub's:
    HF_HUB_CACHE or HF_HOME say where it is, HF_TOKEN or the file of \`hf auth login\`
    opens gated models, HF_ENDPOINT names a mirror, HF_HUB_OFFLINE=1 forbids
    connections. What was cut goes on where it was. The folder that is printed need
    not be remembered: commands find ORG/NAME in the cache.`,
} as const;

export const UPLOAD = {
  "About:": "a trained model, with its card, to a repository of the Hugging Face Hub",
  "[checkpoint]": "folder of a run or of a checkpoint",
  repoId: "text! <name> -- USER/NAME; made if it does not exist",
  checkpointDir: "text <folder> -- the same as the argument",
  step: "int>=0 <n> -- which checkpoint of a run (default: the final model)",
  modelName: "text <name> -- base model on the Hub, for the card",
  optimizerSaveMode: "one full|none|null <mode> = full -- full: with all that a resume needs",
  private: "flag -- if the repository is made, only you see it",
  revision: "text <branch> -- made if it does not exist (default main)",
  license: "text <id> -- for the card, such as apache-2.0",
  commitMessage: "text <text> -- first line of the commit's message",
  checkpointFolder: "text <name> -- in the repository (default checkpoint-STEP)",
  dryRun: "flag -- only list the files",
  json: "flag -- one JSON document: repository, commit, files, bytes",
  quiet: "flag -- only the address",
  "Examples:": `
    rgx upload experiments/quickstart --repo-id me/quickstart --private
    rgx upload experiments/my --step 500 --repo-id me/my --optimizer-save-mode none`,
  "After:": "HF_TOKEN is the token; it needs the right to write.",
} as const;

export const SERVE = {
  "About:": "a model behind an OpenAI-compatible API",
  "[model]": MODEL_KINDS,
  model: "text <folder> -- the same as a flag",
  servedModelName: `texts <name> -- its name for clients (repeatable; default: as given, which is
    a name in any case)`,
  adapter: "texts <name=folder> -- an adapter and its name (repeatable)",
  "Clients:": "",
  host: "text <address> = 127.0.0.1 -- where to listen; 0.0.0.0: everywhere",
  port: "int>=0<=65535 <n> = 8000 -- 0: a free one",
  apiKeyFile: "text <path> -- a file with the key that clients must send",
  cors: "text <origin> -- the origin that browsers may call from (default: none)",
  "Limits:": "",
  maxModelLen: "int>=2 <n> -- tokens of a prompt and its answer",
  maxNumSeqs: "int>=1<=4096 <n> -- completions that are decoded together",
  memoryMb: "int>=16 <n> -- megabytes of the KV cache and all buffers",
  maxQueue: "int>=0 <n> = 256 -- requests that wait; more get 429",
  maxN: "int>=1<=4096 <n> = 128 -- completions of one prompt",
  maxBodyMb: "int>=1<=1024 <n> = 64 -- megabytes of one request",
  requestTimeout: "int>=1<=86400 <s> = 600 -- seconds until a request is ended",
  grace: "int>=0 <s> = 30 -- seconds for running requests after a stop signal",
  "Answers and adapters:": "",
  logprobsMode: `one raw_logprobs|policy_logprobs|processed_logprobs <mode> = raw_logprobs --
    which distribution log-probabilities are of`,
  maxLogprobs: "int>=1<=1000 <n> = 20 -- likeliest tokens of a place",
  generationConfig: `text <from> = auto -- defaults of sampling: auto: the model's
    generation_config.json; none; or a folder's`,
  allowAdapterLoading: "texts <folder> -- clients may load adapters from below it (repeatable)",
  allowAdapterUpload: "flag -- clients may send adapters in requests",
  separateAdapters: "flag -- less memory, slower: adapters stay beside float weights",
  maxLoras: "int>=1 <n> = 16 -- adapters at the same time",
  ...WEIGHTS,
  ...ACTIVATIONS,
  ...DEVICE,
  "Examples:": `
    rgx serve experiments/quickstart
    rgx serve ./smollm2 --adapter mine=runs/a --port 9000
    rgx serve ./smollm2 --host 0.0.0.0 --api-key-file key.txt`,
  "After:": `
    The address for clients is printed on stdout, for example
    http://127.0.0.1:8000/v1. SIGTERM or Ctrl-C ends the server after running
    requests; a second one ends it at once.`,
} as const;

export const CHAT = {
  "About:": "a conversation with a model",
  "[model]": MODEL_KINDS,
  model: "text <model> -- the same as a flag",
  adapter: `texts <name=folder> -- a PEFT adapter to go on with, by /adapter NAME; the first one
    begins (repeatable)`,
  system: "text <text> -- system message, or the name of a built-in one",
  chatTemplateKwargs: `text <json> -- values for the chat template, for example
    {"enable_thinking": false}`,
  tools: "texts <file> -- a file with tools that the model may call (repeatable)",
  "Sampling:": "",
  maxNewTokens: "int>=1<=1048575 <n> = 1024 -- tokens of an answer at most",
  maxModelLen: "int>=2 <n> = 8192 -- tokens of the conversation at most",
  temperature: "number>=0<=100 <t> = 0.7 -- 0 is greedy",
  ...DRAWING,
  ...WEIGHTS,
  ...ACTIVATIONS,
  ...DEVICE,
  "Examples:": `
    rgx chat ./smollm2
    rgx chat ./smollm2 --adapter mine=runs/a --system "Answer in one word."
    rgx chat ./qwen3 --tools calculator.ts
    echo 'Reverse the letters: deno' | rgx chat experiments/quickstart`,
  "After:": `
    Each line is a message, also in a pipe; one that ends with \\ goes on on the next
    line. /help lists the commands: /reset, /again, /system, /adapter, /set,
    /history, /exit. Ctrl-C ends an answer.`,
} as const;

/** Flags of both commands. Each command adds where results go without a flag. */
export const BENCH = {
  "Models and tasks:": "",
  config: "text <file> -- a YAML file: categories of tasks with parameters, and a model",
  models:
    `words <models...> = [] -- folders, runs, checkpoints, adapters, or openai:NAME; LABEL=MODEL
    names it in results`,
  tasks: `words <tasks...> = [] -- tasks, task files, gsm8k=FILE, math500=FILE, mmlu_pro=FILE, or a
    JSONL file`,
  numExamples: "int>=1 <n> -- problems of each task (default 100)",
  set: "texts <k=v> -- a parameter (repeatable); of several tasks: NAME.k=v",
  level: "int>=0 <n> -- curriculum level of every attribute",
  setLevel: "texts <attr=n> -- level of one attribute (repeatable)",
  base: `flag -- also the models that checkpoints and adapters began with (bench does) |
    off -- without these models (the default of eval)`,
  entries: `words <files...> -- entries of tasks that exist already, such as reasoning-gym's:
    question, answer, metadata`,
  category: "text <name> -- of the file, only the tasks of this category",
  limit: "int>=1 <n> -- at most so many problems of any task",
  "Environments and tools:": "",
  environment: `text <file> -- what answers the model: a file (.ts, .py), an address, second_tries,
    or a game such as sokoban; without --tasks it makes the problems (default: as the checkpoint was
    trained) |
    off -- one answer a problem, without environment and tools`,
  tools: "words <files...> -- files with tools that the model may call",
  allowCommands: "flag -- start the programs, and ask the servers, of a run's own environment",
  maxTurns: "int>=1 <n> -- most answers of the model in a dialogue",
  "Sampling:": "",
  seed: "int>=0 <n> -- seed of the problems, and of the draws (default 42)",
  samplingSeed: "int>=0 <n> -- another seed of the draws",
  temperature: "number>=0<=100 <t> -- 0 = greedy (default; 1 with several samples)",
  topP: "number>0<=1 <p> -- 1 = off",
  topK: "int>=0 <k> -- 0 = off",
  minP: "number>=0<=1 <p> -- 0 = off",
  repetitionPenalty: "number>=0.01<=100 <x> -- 1 = off",
  ...ACTIVATIONS,
  ...COMPUTE_DTYPE,
  maxNewTokens: "int>=1 <n> -- default: as the checkpoints were trained, else 512",
  samples: "int>=1<=4096 <k> -- completions of each problem: pass@k, avg@k, majority@k",
  stop: "texts <text> -- end after this text (repeatable)",
  "Prompts:": "",
  system: "text <text> -- system prompt, or the name of a built-in one; empty = none",
  instructions: `flag -- the instruction about the answer's form before every question (default:
    of rgx's tasks) |
    off -- the question alone, without that instruction`,
  chatTemplateKwargs: `text <json> -- values for the chat template, for example
    {"enable_thinking": false}`,
  plain: "flag -- plain text even where the model has a chat template",
  fewShot: "int>=0<=64 <n> -- worked examples before each question",
  fewShotAs: "text <how> -- prompt or turns (of a conversation)",
  "This machine:": "",
  device: "text <name> -- auto, webgpu, vulkan, wasm or reference",
  devices: "text <list> -- one worker process each: 0,1,… (graphics cards) or names",
  batchSize: `int>=1 <n> -- most completions at once on this machine (default: as many as are
    fastest)`,
  threads: "int>=1 <n> -- threads of each wasm device",
  native: "off -- only WASM kernels on the wasm device (as RGX_NATIVE=0)",
  workers: "int>=1<=1024 <n> -- worker processes; of remote models, requests at once",
  ranks: "int>=1<=65536 <n> -- share the models among so many processes (MPI)",
  "Remote models:": "",
  baseUrl: "text <address> -- OpenAI-compatible server of openai:NAME",
  apiKeyEnv: "text <name> -- variable that holds the key (default OPENAI_API_KEY)",
  completionsEndpoint: "flag -- send plain prompts to /completions",
  timeout: "number>=0.01<=86400 <s> -- seconds without a sign of life (default 600)",
  retries: "int>=1<=1000 <n> -- attempts for one request (default 10)",
  retryDelay: "number>=0<=600 <s> -- seconds before the second attempt (default 1)",
  cache: "off -- do not keep the answers of remote models",
  priceIn: "number>=0<=1e9 <x> -- price of a million prompt tokens",
  priceOut: "number>=0<=1e9 <x> -- price of a million new tokens",
  "Results, and going on:": "",
  outputDir: "text <folder> -- where results go (FOLDER)",
  resume: "flag -- ask only for what the output folder does not hold yet",
  merge: "flag -- ask nothing: one result of what the output folder holds for this command",
  shard: "text <i/n> -- one part of n, from 0/n; --merge joins them",
  maxTime: "text <hh:mm:ss> -- stop (exit 75) in time; --resume goes on",
  saveMetadata: "flag -- as the file's key: the reports have the metadata of problems",
  fullResults: "flag -- as save_full_results: a report with all data sets, results.json",
  samplesOut: "text <file> -- all examples as JSON Lines",
  table: "text <format> -- print markdown or csv",
  charts: "off -- result files only, no pictures beside them",
  json: "flag -- one JSON document",
  quiet: "flag -- warnings and errors only",
  verbose: "flag -- each question and answer, and stacks of errors",
} as const;

function folder(byDefault: string): string {
  return BENCH.outputDir.replace("FOLDER", byDefault);
}

export const BENCH_HELP = {
  "About:": "measure models on tasks: accuracy with intervals, paired differences",
  ...BENCH,
  outputDir: folder("default benchmark_results; of --config the file's"),
  "Examples:": `
    rgx bench --models experiments/leg_counting --tasks leg_counting chain_sum
    rgx bench --models before=./base after=runs/a --tasks leg_counting
    rgx bench --models run/checkpoint-50 ./base --tasks gsm_symbolic --samples 8
    rgx bench --models ./model --tasks chain_sum --num-examples 2000 --ranks 4
    rgx bench --models openai:qwen --tasks gsm8k --base-url http://localhost:8000
    rgx bench --models ./model --entries entries.jsonl --system DeepSeekZero
    rgx bench --models ./model --tasks chain_sum --environment second_tries
    rgx bench --config eval_algorithmic_composite --models ./model`,
};

export const EVAL_HELP = {
  "About:": "as rgx bench --config FILE: the benchmark that a YAML file describes",
  "[file]": "as --config",
  ...BENCH,
  outputDir: folder("default: the file's, else results"),
  "Examples:": `
    rgx eval eval_algorithmic_composite --models ./model
    rgx eval --config eval.yaml --category algorithmic --limit 20 --json`,
};

export const CHART = {
  "<files...>": "result files of rgx bench or folders of them; or folders of runs",
  title: "text <text> -- title of the chart",
  rename: "texts <old=name> -- what a model or a run is called in the chart (repeatable)",
  renameFile: "text <path> -- a JSON object of such names of models",
  fullScale: "flag -- of results: from 0 to 100 %; default: to where the data end",
  columns: "int>=1<=2 <n> -- for a paper: as wide as one or two of its columns",
  metrics: "text <names> -- of runs: names as in metrics.jsonl, with commas between",
  output: "text <path> -- a .png, .svg, .pdf or .html; default: a new PNG beside the data",
  json: "flag -- one JSON document: path, what is drawn, notes",
} as const;

export const PLOT = {
  "About:": "charts: of benchmark results, or the curves of training runs",
  ...CHART,
  "Examples:": `
    rgx plot benchmark_results/results_*.json
    rgx plot results_leg_counting_20260102_030405.json --rename "Qwen/Qwen2.5-7B-Instruct=Qwen 7B"
    rgx plot benchmark_results --rename-file names.json --title "After training" --output chart.html
    rgx plot runs/a runs/b --metrics reward,eval_accuracy --output curves.html`,
} as const;

export const CURVES = {
  "About:": "as rgx plot: the curves of training runs",
  ...CHART,
  "Examples:": `
    rgx curves experiments/quickstart
    rgx curves runs/a runs/b`,
} as const;

export const DASHBOARD = {
  "About:": "a web page: live curves, completions, comparisons, benchmarks",
  "[folders...]": "folders of runs or of results; default: those in this folder",
  port: "int>=0<=65535 <n> -- 0: any free port (default 6080)",
  host: "text <address> -- 0.0.0.0: reached from other machines (default 127.0.0.1)",
  token: `text <text> -- the token in the address; default: a new one at each start |
    off -- everybody who reaches the port may read`,
  allowRuns: "flag -- the page may start, stop and resume runs, as you could here",
  json: "flag -- one JSON document: url, folders",
  "Examples:": `
    rgx dashboard
    rgx dashboard experiments/quickstart benchmark_results
    rgx dashboard /shared/runs --port 7000`,
  "After:": "Without --allow-runs it writes only tags and notes. Ctrl-C ends it.",
} as const;

export const WATCH = {
  "About:": "a run in the terminal: its curve, time left, last completions",
  "<run>": "output folder of rgx train",
  once: "flag -- print it once",
  json: "flag -- one JSON document: status, steps, time left, reward, accuracies",
  "Examples:": `
    rgx watch experiments/quickstart
    rgx watch runs/a --once`,
  "After:": "It ends with the run, or with Ctrl-C, which leaves the run alone.",
} as const;

export const DOCTOR = {
  "About:": "what this machine (or this job) offers, whether a config fits, and what to fix",
  "[config]": "a YAML file or the name of an embedded config: does it fit here?",
  "[overrides...]": "key.path=value …",
  ...CARD,
  plan: "text [config] -- with --gpu: would this config fit on that card, and how long?",
  tune: "flag -- measure the kernels of a graphics card, for the config's shapes",
  minutes: "number>0 <n> -- with --tune: for at most this long (default 5)",
  nodes: "int>=1<=65536 <n> -- with --gpu: on this many nodes, one rank a card",
  gpus: "int>=1<=1024 <n> -- with --gpu: cards of each node",
  network: "number>0 <gigabits> -- of a node, in Gb/s (default 100)",
  mtbf: "number>0 <days> -- mean time between failures of a node (default 264)",
  model: `text <folder> -- instead: types of a model's weights, and errors of holding them
    otherwise`,
  self: "flag -- instead: try every part of this program on a tiny model, without a network",
  device: "text <name> -- of the config, --model or --tune: auto, webgpu, vulkan, wasm …",
  json: "flag -- one JSON document",
  "Examples:": `
    rgx doctor
    rgx doctor --json
    rgx doctor quickstart training.max_steps=50
    rgx doctor --plan leg_counting_qwen7b --gpu h100-80gb
    rgx doctor --plan my.yaml --gpu a100-80gb --nodes 2 --gpus 4
    rgx doctor --tune my.yaml --minutes 20
    rgx doctor --model HuggingFaceTB/SmolLM2-135M-Instruct
    rgx doctor --self`,
  "After:": "Exit code 1 when the config does not fit, or a part does not work.",
} as const;
