/** Benchmarks on several ranks, as processes that Open MPI and MPICH start. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { hasBothMpis, launch, launchers } from "../../cluster/ranks/mpi/launchers_testing.ts";
import { tinyModelFolder } from "../../training/tiny_model_testing.ts";
import { argv } from "../command_line.ts";
import { NEEDED, needs } from "../skipped.ts";
import { rgx, rgxProgram, succeeds } from "../support.ts";
import { answersIn, signalled } from "./ranks_testing.ts";

/** Problems of each of two tasks: so many that a signal comes before the end. */
const PROBLEMS = 2500, ANSWERS = 2 * PROBLEMS;
const ONE_THREAD = { RGX_NUM_THREADS: "1", COLUMNS: "80" };

const commandOf = (model: string, problems: number) =>
  argv`bench --models ${model} --tasks spell_backward chain_sum --no-charts
    --num-examples ${problems} --max-new-tokens 40 --temperature 1 --no-instructions --quiet`;

/** What the result files of a folder have in common with those of another one. */
async function resultOf(folder: string): Promise<unknown> {
  const results: unknown[] = [];
  for (const { name } of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)) {
    if (!name.startsWith("results_")) continue;
    results.push(JSON.parse(
      await Deno.readTextFile(`${folder}/${name}`),
      (key, value) => /^(seconds|created|stamp|parts)$/.test(key) ? null : value,
    ));
  }
  assert.equal(results.length, 3);
  return results;
}

test.inFolder(
  "rgx bench on ranks is that of one process, also when one is killed or all are stopped",
  async (dir) => {
    await tinyModelFolder(`${dir}/model`);
    const [, mpich] = launchers, command = commandOf(`${dir}/model`, PROBLEMS);
    await succeeds([...command, "--output-dir", `${dir}/1`], { env: ONE_THREAD });
    const three = await launch(
      mpich!,
      3,
      rgxProgram([...command, "--output-dir", `${dir}/3`]),
      ONE_THREAD,
    );
    assert.equal(three.code, 0, three.err);
    assert.deepEqual(await resultOf(`${dir}/3`), await resultOf(`${dir}/1`));
    assert.equal(await answersIn(`${dir}/3`), ANSWERS);

    const onTwo = [...command, "--output-dir", `${dir}/2`, "--ranks", "2"];
    const killed = await signalled(
      "SIGKILL",
      (env) => rgx(onTwo, { env: { ...ONE_THREAD, ...env } }),
      async () => await answersIn(`${dir}/2`) > 0,
    );
    assert.equal(killed.code, 75, killed.err);
    assert.match(
      killed.err,
      /^help: the answers in .* are kept: the same command with --resume/m,
    );
    const kept = await answersIn(`${dir}/2`);
    assert.ok(kept > 0 && kept < ANSWERS);
    await succeeds([...onTwo, "--resume"], { env: ONE_THREAD });
    assert.equal(await answersIn(`${dir}/2`), ANSWERS, "no answer was asked for twice");
    assert.deepEqual(await resultOf(`${dir}/2`), await resultOf(`${dir}/1`));

    const stopped = await signalled(
      "SIGTERM",
      (env) => rgx([...onTwo.with(-3, `${dir}/4`)], { env: { ...ONE_THREAD, ...env } }),
      async () => await answersIn(`${dir}/4`) > 0,
      "starter",
    );
    assert.equal(stopped.code, 75, stopped.err);
    assert.match(stopped.err, /^error: stopped early \(SIGUSR2\); the answers so far are kept$/m);
    assert.ok(await answersIn(`${dir}/4`) < ANSWERS, "the ranks have ended too");

    const wrong = await rgx([...command, "--ranks", "2", "--workers", "2"]);
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.err,
      /^error: --workers: not with 2 ranks, each of which has one device$/m,
    );
  },
  needs(hasBothMpis, NEEDED.mpi),
);
