/** Runs with environments: one turn is the run without one, and longer dialogues are trained on. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { sha256Hex } from "../../core/checksums.ts";
import { writeEnvironment } from "../../bench/dialogue/testing.ts";
import {
  completionsOf,
  copyFolder,
  metricsWithoutClock,
  shortRunConfig,
  trainOn,
  varying,
  weightsOf,
  withWasm,
} from "../testing.ts";

const ONE_TURN = `{ step: () => ({ content: "", done: true, reward: 1 }) }`;
const TALK = `{
  reset: (row, { seed }) => ({ observation: " " + seed % 10, turns: 0 }),
  step(message, state) {
    const done = ++state.turns === 3;
    return { content: "go on", done, reward: message.content.length % 3 };
  },
}`;

/** Copies a run as if it had been killed in its second step, with what it had of its transcript. */
async function copyKilled(from: string, to: string, transcript: string | null): Promise<void> {
  await copyFolder(from, to);
  await Deno.remove(`${to}/checkpoint-2`, { recursive: true });
  const run = await Deno.readTextFile(`${to}/run.json`);
  await Deno.writeTextFile(`${to}/run.json`, run.replace('"completed"', '"running"'));
  if (transcript === null) await Deno.remove(`${to}/transcript.jsonl`);
  else await Deno.writeTextFile(`${to}/transcript.jsonl`, transcript);
}

/** The lines of a run's transcript, and the number of the first one of its second step. */
async function transcriptOf(path: string): Promise<{ lines: string[]; second: number }> {
  const lines = (await Deno.readTextFile(`${path}/transcript.jsonl`)).split("\n");
  const second = lines.findIndex((line) => line.startsWith('{"step":1,"scene":"1"'));
  return { lines, second };
}

const hashOf = async (folder: string) => await sha256Hex(await weightsOf(`${folder}/checkpoint-2`));

test.inFolder("an environment that ends after one answer changes no bit", async (folder) => {
  const environment = await writeEnvironment(folder, ONE_TURN);
  const hashes: string[] = [], lines: Record<string, unknown>[][] = [];
  const byTurns = { environment, multi_turn: { credit: "return" as const } };
  for (const changes of [{}, { environment }, byTurns]) {
    await withWasm(async (device, dir) => {
      const config = shortRunConfig(`${dir}/run`, {
        ...changes,
        training: { steps_per_generation: 4, num_iterations: 1 },
      });
      await trainOn(device, config, varying);
      hashes.push(await hashOf(`${dir}/run`));
      lines.push(await metricsWithoutClock(`${dir}/run`, "train"));
    });
  }
  assert.deepEqual(hashes.slice(1), [hashes[0], hashes[0]]);
  const [without, withOne] = lines as [Record<string, unknown>[], Record<string, unknown>[]];
  for (const [i, line] of without.entries()) {
    for (const [name, value] of Object.entries(line)) {
      // An answer that is cut off is not shown to the environment, and has its own reason.
      if (name !== "completions/clipped_ratio") assert.deepEqual(withOne[i]![name], value, name);
    }
    const isStep = line["completions/mean_length"] !== undefined;
    assert.equal(typeof withOne[i]!["num_turns/mean"], isStep ? "number" : "undefined");
  }
});

test.inFolder("dialogues are trained on, recorded, and the same when run again", async (folder) => {
  const environment = await writeEnvironment(folder, TALK);
  const hashes: string[] = [];
  for (let run = 0; run < 2; run++) {
    await withWasm(async (device, dir) => {
      const config = shortRunConfig(`${dir}/run`, {
        environment,
        rewards: [{ name: "environment", weight: 1, params: {} }],
        multi_turn: { max_turn_tokens: 8, credit: "return" },
        training: { max_completion_length: 40, eval_steps: 1, eval_strategy: "steps" },
      });
      const { summary } = await trainOn(device, config);
      assert.equal(summary.status, "completed");
      hashes.push(await hashOf(`${dir}/run`));
      for (const row of await completionsOf(`${dir}/run`, 1)) {
        const dialogue = row["dialogue"] as { role: string }[];
        assert.equal(dialogue.filter(({ role }) => role === "assistant").length, row["turns"]);
        assert.match(row["prompt"] as string, / \d$/, "the start stands in the prompt");
      }
    });
  }
  assert.equal(hashes[1], hashes[0]);
});

test.inFolder("delays and a kill in the middle of a turn change no bit", async (folder) => {
  const code = (delay: string) =>
    `{
    reset: (row, { seed }) => ({ observation: " " + seed % 10, turns: 0 }),
    async step({ content }, state) {
      await new Promise((resolve) => setTimeout(resolve, ${delay}));
      return { content: "on", done: ++state.turns === 4, reward: content.length % 3 };
    },
  }`;
  await withWasm(async (device, dir) => {
    const run = async (name: string, delay: string, resume = false) => {
      // With hosts, replies are taken from the transcript.
      const environment = { ...await writeEnvironment(folder, code(delay)), net: ["127.0.0.1:9"] };
      const config = shortRunConfig(`${dir}/${name}`, {
        environment,
        rewards: [{ name: "environment", weight: 1, params: {} }],
        multi_turn: { max_turn_tokens: 20 },
        training: { max_completion_length: 80, save_steps: 1 },
      });
      await trainOn(device, config, { resume });
      return await hashOf(`${dir}/${name}`);
    };
    const whole = await run("whole", "0"), { lines, second } = await transcriptOf(`${dir}/whole`);
    const cut = (second + lines.length) >> 1;
    assert.ok(second > 0 && cut > second);
    const kept = `${lines.slice(0, cut).join("\n")}\n${lines[cut]!.slice(0, 20)}`;
    await copyKilled(`${dir}/whole`, `${dir}/killed`, kept);
    assert.equal(await run("killed", "60 * Math.random()", true), whole);
  });
});

test.inFolder("what depended on the clock is the same when a run goes on after a kill", async (folder) => {
  const code = (deadline: number) =>
    `{
    reset: (row, { seed }) => ({ observation: " " + seed % 10, seed, turns: 0 }),
    async step(message, state) {
      // The machine is slow at first: some calls come too late.
      const slow = Date.now() < ${deadline} && (state.seed + state.turns + message.content.length) % 2;
      if (slow) await new Promise((resolve) => setTimeout(resolve, 2000));
      return { content: "on", done: ++state.turns === 3, reward: message.content.length % 3 };
    },
  }`;
  const environment = await writeEnvironment(folder, code(Infinity));
  await withWasm(async (device, dir) => {
    const at = (name: string, resume = false) => {
      const config = shortRunConfig(`${dir}/${name}`, {
        environment,
        rewards: [{ name: "environment", weight: 1, params: {} }],
        multi_turn: { max_turn_tokens: 8, tool_timeout_s: 0.3, rollout_timeout_s: 60 },
        training: { max_completion_length: 40, save_steps: 1 },
      });
      return trainOn(device, config, { resume });
    };
    await at("whole");
    const lines = await metricsWithoutClock(`${dir}/whole`);
    assert.ok(lines.some((line) => Number(line["stop/timeout"]) > 0), "calls were too late");
    assert.ok(lines.some((line) => Number(line["stop/timeout"]) < 1), "not all of them");
    const goOn = async (name: string, transcript: string | null) => {
      await copyKilled(`${dir}/whole`, `${dir}/${name}`, transcript);
      await at(name, true);
      return await hashOf(`${dir}/${name}`);
    };
    await writeEnvironment(folder, code(0)); // the machine is fast again
    const whole = await hashOf(`${dir}/whole`);
    const transcript = await Deno.readTextFile(`${dir}/whole/transcript.jsonl`);
    assert.equal(await goOn("killed", `${transcript}{"step":1,"scene":"1","exch`), whole);
    assert.notEqual(await goOn("without", null), whole);
    // Nothing is known of other dialogues.
    const other = transcript.replaceAll(/"hash":"[0-9a-z]+"/g, '"hash":"?"');
    assert.notEqual(await goOn("other", other), whole);
  });
});

test.inFolder("an agent's rows are trained on, and are the same after a kill", async (folder) => {
  const script = `${folder}/agent.js`, chat = `${folder}/chat.jinja`;
  await Deno.writeTextFile(
    script,
    `const { seed } = JSON.parse(await new Response(Deno.stdin.readable).text());
    const ask = async (content) => {
      await new Promise((resolve) => setTimeout(resolve, 40 * Math.random()));
      const response = await fetch(Deno.env.get("OPENAI_BASE_URL") + "/chat/completions", {
        method: "POST",
        headers: { authorization: "Bearer " + Deno.env.get("OPENAI_API_KEY") },
        body: JSON.stringify({ messages: [{ role: "user", content }] }),
      });
      return (await response.json()).choices[0].message.content.length;
    };
    const first = await ask("one " + seed % 5);
    console.log(JSON.stringify({ reward: (first + await ask("other")) % 3 }));`,
  );
  await Deno.writeTextFile(
    chat,
    "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}<eos>{% endif %}" +
      "{% endfor %}",
  );
  const agent = [Deno.execPath(), "run", "-A", "--no-lock", script];
  await withWasm(async (device, dir) => {
    const run = async (name: string, resume = false) => {
      const config = shortRunConfig(`${dir}/${name}`, {
        environment: { agent, workers: resume ? 2 : 5, max_prompt_length: 20 },
        rewards: [{ name: "environment", weight: 1, params: {} }],
        multi_turn: { max_turn_tokens: 6, credit: "return" },
        model: { chat_template: chat },
        eval: { num_examples: 1 },
        sft: { max_steps: 0 },
        training: { max_completion_length: 20, save_steps: 1, gradient_accumulation_steps: 1 },
      });
      const { summary } = await trainOn(device, config, { resume });
      assert.equal(summary.status, "completed");
      return await hashOf(`${dir}/${name}`);
    };
    const whole = await run("whole");
    for (const row of await completionsOf(`${dir}/whole`, 1)) {
      assert.deepEqual([row["turns"], row["stop"]], [2, "done"]);
    }
    const { lines, second } = await transcriptOf(`${dir}/whole`);
    const kept = `${lines.slice(0, second + 5).join("\n")}\n{"step":1`;
    await copyKilled(`${dir}/whole`, `${dir}/killed`, kept);
    assert.equal(await run("killed", true), whole);
  });
});
