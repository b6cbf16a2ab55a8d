/** The flags of `rgx score`, `rgx rescore` and `rgx rewards test`. */
import { PYTHON } from "../flag_tables.ts";

export const SCORE = {
  "About:": "score answers (JSONL in, JSONL out, in order), or serve rewards",
  "[file]": "= - -- JSONL file, or - for stdin",
  completions: "flag -- take whole completions and extract their answers as training does",
  task: "texts <file> -- a task file of yours, which the lines name (repeatable)",
  threads: "int>=1<=1024 <n> -- threads; default: one a core",
  reward: "texts <reward> -- score with it: a name, a file, {name: …} (repeatable)",
  config: "text <file> -- score with the rewards of a run's configuration",
  ...PYTHON,
  serve: "flag -- rewards over HTTP (default: correctness) for another trainer",
  host: "text <address> = 127.0.0.1 -- where to listen with --serve",
  port: "int>=0<=65535 <n> = 8100 -- 0: a free one",
  "Examples:": `
    rgx score answers.jsonl
    cat answers.jsonl | rgx score --completions -
    rgx score answers.jsonl --task ./digit_sum.ts
    rgx score completions.jsonl --reward correctness --reward mine.ts
    rgx score --serve --config my.yaml`,
  "After:": `
    With rewards, a line is a row of data with its completion: {"prompt": …,
    "answer": …, "completion": …}. docs/rewards.md has the protocol of --serve.`,
} as const;

export const RESCORE = {
  "About:": "score the completions of a run again, with other rewards",
  "<run>": "folder of a run",
  reward: "texts <reward> -- a name, a file, {name: …} (repeatable)",
  config: "text <file> -- the rewards of another configuration",
  ...PYTHON,
  steps: "text <a-b> -- only these steps",
  output: "text <file> -- a .jsonl with both rewards of every completion",
  json: "flag -- one JSON document",
  "Examples:": `
    rgx rescore experiments/my --reward correctness --reward '{name: brevity, weight: 0.2}'
    rgx rescore experiments/my --reward '{name: judge, base_url: http://127.0.0.1:8000/v1}'
    rgx rescore experiments/my`,
  "After:": `
    Without rewards, those of the run are computed again, as after a change of a
    reward file. The run is not changed.`,
} as const;

export const REWARDS_TEST = {
  "About:": "hold a reward against cases: completions with expected values",
  "<reward>": "a file with a reward, or the name of a built-in one",
  "[cases]": "JSONL file of cases; default: NAME_cases.jsonl beside NAME.ts",
  set: "texts <k=v> -- a parameter of the reward (repeatable)",
  ...PYTHON,
  json: "flag -- one JSON document",
  "Examples:": `
    rgx rewards test few_vowels.ts
    rgx rewards test my_rewards.py:reward cases.jsonl --allow-python
    rgx rewards test cosine_scaled cases.jsonl --set max_len=256`,
  "After:": `
    A case is a line such as {"completion": "…", "answer": "4", "expected": 1}.
    Other fields are those that a reward gets: prompt, messages, question, info,
    completionIds, truncated, step, maxCompletionLength. Exit code 1 if a case
    fails.`,
} as const;
