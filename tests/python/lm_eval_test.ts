/**
 * Opt-in: the LM Evaluation Harness measures a served model, on data from files. Its
 * log-likelihoods and texts are those of `rgx logprobs` and of greedy generation.
 * RGX_TEST_LM_EVAL_PYTHON is a Python with `lm_eval[api]` (pip install "lm_eval[api]").
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { createWasmDevice } from "../../kernels/devices/wasm/device.ts";
import { logprobs } from "../../models/inspect/logprobs.ts";
import { type LoadedModel, loadModel } from "../../models/load_model.ts";
import { followingText } from "../../models/tokenizers/following_text.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { NEEDED, needs } from "../skipped.ts";
import { copyFiles, jsonLines, runs, serveRgx } from "../support.ts";

const python = Deno.env.get("RGX_TEST_LM_EVAL_PYTHON");
const TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}";
const STOP = ".", MAX_TOKENS = 24;

const QUESTIONS = [
  { question: "Once upon a time there was a", choices: [" little girl", " big dog", " red"] },
  { question: "The cat saw the", choices: [" ball", " moon and ran", " the"] },
  { question: "Lily was very", choices: [" happy", " sad. She cried", " x"] },
].map((row) => ({ ...row, answer: 0 }));

const task = (data: string, name: string, more: string) =>
  `task: ${name}
dataset_path: json
dataset_kwargs: { data_files: { test: ${JSON.stringify(data)} } }
test_split: test
doc_to_text: "{{question}}"
${more}`;

const CHOICES = `output_type: multiple_choice
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
target_delimiter: ""
metric_list: [{ metric: acc }]
`;
const TEXTS = `output_type: generate_until
doc_to_target: ""
generation_kwargs:
  { until: ["${STOP}"], max_gen_toks: ${MAX_TOKENS}, do_sample: false, temperature: 0 }
metric_list: [{ metric: exact_match }]
`;

interface Sample {
  doc: typeof QUESTIONS[number];
  filtered_resps: (string | [logprob: string, isGreedy: string])[];
}

/** Runs the harness. @returns the samples of each task */
async function evaluate(
  folder: string,
  model: string,
  address: string,
  tasks: readonly string[],
  more: readonly string[] = [],
): Promise<Sample[][]> {
  const output = `${folder}/${model}`;
  await runs(
    argv`${python!} -m lm_eval run --model ${model} --include_path ${folder} --tasks ${tasks.join()}
      --log_samples --output_path ${output}
      --model_args model=tiny,base_url=${address},num_concurrent=4,tokenizer_backend=remote,max_length=512
      ${more}`,
    {
      cwd: folder,
      env: { HF_HUB_OFFLINE: "1", HF_HOME: `${folder}/cache`, OPENAI_API_KEY: "none" },
    },
  );
  const found: string[] = [];
  for (const { name: part } of Deno.readDirSync(output)) {
    for (const { name } of Deno.readDirSync(`${output}/${part}`)) {
      found.push(`${output}/${part}/${name}`);
    }
  }
  return tasks.map((name) => {
    const path = found.find((path) => path.includes(`samples_${name}_`))!;
    return jsonLines(Deno.readTextFileSync(path));
  });
}

/** The greedy text after a prompt, before the stop string. */
async function greedyText({ model, tokenizer, eosIds }: LoadedModel, promptIds: number[]) {
  const options = { maxNewTokens: MAX_TOKENS, temperature: 0, seed: 0, eosIds };
  const [group] = await model.generate([{ promptId: 0, promptIds, n: 1 }], options);
  const text = followingText(tokenizer, group![0]!.ids, { skipSpecialTokens: true });
  return text.split(STOP)[0]!;
}

test.inFolder(
  "the LM Evaluation Harness finds what rgx logprobs and rgx generate say",
  async (folder) => {
    const path = `${folder}/model`, data = `${folder}/questions.jsonl`;
    await copyFiles(goldenPath("models/stories260k"), path);
    await Deno.writeTextFile(`${path}/chat_template.jinja`, TEMPLATE);
    await Deno.writeTextFile(data, QUESTIONS.map((row) => JSON.stringify(row)).join("\n"));
    await Deno.writeTextFile(`${folder}/choices.yaml`, task(data, "rgx_choices", CHOICES));
    await Deno.writeTextFile(`${folder}/texts.yaml`, task(data, "rgx_texts", TEXTS));
    const server = await serveRgx(argv`serve ${path} --port 0 --served-model-name tiny`);
    const device = await createWasmDevice({ threads: 1 }), loaded = await loadModel(path, device);
    try {
      const { url } = server, { model, tokenizer } = loaded;
      const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false });
      const [choices, texts] = await evaluate(
        ...[folder, "local-completions", `${url}/completions`] as const,
        ["rgx_choices", "rgx_texts"],
      );
      assert.deepEqual([choices!.length, texts!.length], [3, 3]);
      for (const { doc: { question, choices: answers }, filtered_resps } of choices!) {
        for (const [i, answer] of answers.entries()) {
          const ids = encode(question + answer), from = encode(question).length;
          const scored = await logprobs(model, ids, 1);
          const own = scored.logprobs.slice(from).map((logprob) => logprob!);
          const isGreedy = own.every((logprob, t) => logprob === scored.top[from + t]![0]!.logprob);
          const [found, greedy] = filtered_resps[i]!;
          const sum = own.reduce((a, b) => a + b, 0);
          assert.ok(
            Math.abs(Number(found) - sum) < 1e-3,
            `${question}${answer}: ${found} ${sum}`,
          );
          assert.equal(greedy, isGreedy ? "True" : "False");
        }
      }
      for (const { doc: { question }, filtered_resps } of texts!) {
        assert.equal(filtered_resps[0], await greedyText(loaded, encode(question)));
      }
      const [chats] = await evaluate(
        ...[folder, "local-chat-completions", `${url}/chat/completions`] as const,
        ["rgx_texts"],
        ["--apply_chat_template"],
      );
      for (const { doc: { question }, filtered_resps } of chats!) {
        const prompt = tokenizer.applyChatTemplate([{ role: "user", content: question }])!;
        assert.equal(filtered_resps[0], await greedyText(loaded, encode(prompt)));
      }
    } finally {
      assert.doesNotMatch((await server.end()).err, /internal error/);
      loaded.model.dispose();
      device.close();
    }
  },
  needs(python !== undefined, NEEDED.python),
);
