/**
 * Files of earlier versions (tests/golden/versions, one of each format) go on working: a run is
 * resumed, shown and reported, and results are read and drawn.
 */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { findRuns } from "../../reports/dashboard/reading/find_runs.ts";
import { readRunDetails, readRunInfo } from "../../reports/dashboard/reading/run_state.ts";
import { copyFolder } from "../../training/testing.ts";
import { argv } from "../command_line.ts";
import { goldenPath } from "../golden.ts";
import { rgx, succeeds } from "../support.ts";

const VERSIONS = goldenPath("versions/");

for (const format of [1]) {
  test.inFolder(`a run of format ${format} is shown, resumed and reported`, async (folder) => {
    const run = `${folder}/run`;
    await copyFolder(`${VERSIONS}run-${format}`, run);
    const { runs: [found] } = await findRuns([folder]);
    const info = await readRunInfo(found!);
    assert.deepEqual(info.problems, []);
    assert.deepEqual((await readRunDetails(info)).problems, []);
    const resumed = await succeeds(argv`train ${run}/config.yaml --output-dir ${run} --resume
      training.max_steps=6`);
    assert.match(resumed.err, /checkpoint-2/);
    assert.doesNotMatch(resumed.err, /damaged/);
    const { status, steps } = JSON.parse(await Deno.readTextFile(`${run}/run.json`));
    assert.deepEqual([status, steps], ["completed", 6]);
    await succeeds(argv`report ${run}`);
  });

  test.inFolder(`results of format ${format} are drawn, later ones refused`, async (folder) => {
    const results = `${VERSIONS}results-${format}.json`;
    await succeeds(argv`plot ${results} --output ${folder}/chart.png`);
    const newer = `${folder}/results_x.json`, text = await Deno.readTextFile(results);
    await Deno.writeTextFile(newer, text.replace(`"format": ${format}`, '"format": 99'));
    const refused = await rgx(argv`plot ${newer} --output ${folder}/other.png`);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /result format 99, this version reads format 1/);
  });
}
