import assert from "node:assert/strict";
import { withFolder, writeFiles } from "../../core/testing.ts";
import { changedKeys } from "../config_difference.ts";
import { loadConfig } from "../load.ts";
import { textWithFilesOfRun } from "./run_files.ts";

const REWARD = "export default (): number => 1;\n";
const runConfig = (outputDir: string) => `
model: { model_name_or_path: org/name }
data: { dataset_name: ../data.jsonl }
rewards: [{ name: own, path: mine/own.ts }]
tools: [{ mcp: { command: [python3, mine/own.ts, "@org/none.x", -m] } }]
training: { output_dir: ${outputDir}, max_steps: 1 }
`;

/** A run that was started in `folder`/project, with its files, and a folder beside that. */
async function withRun(
  body: (folder: string) => Promise<void>,
  outputDir = "runs/first",
): Promise<void> {
  await withFolder(async (made) => {
    const folder = await Deno.realPath(made);
    const data = '{"question": "1 + 1 =", "answer": "2"}\n';
    await writeFiles(folder, {
      "project/mine/own.ts": REWARD,
      "data.jsonl": data,
      "other/data.jsonl": data,
      "project/runs/first/config.yaml": runConfig(outputDir),
      "project/runs/first/run.json": JSON.stringify({ working_directory: `${folder}/project` }),
    });
    await Deno.mkdir(`${folder}/other/place`);
    await body(folder);
  });
}

async function filesOf(config: string, cwd: string) {
  const { config: { data, model, rewards, tools } } = await loadConfig(config, { cwd });
  const { path } = rewards[0]!.file!;
  // Words of a command that are files are found as files are.
  assert.deepEqual(tools[0]!.mcp!.command, ["python3", path, "@org/none.x", "-m"]);
  return [data.dataset_name, path, model.model_name_or_path];
}

Deno.test("the files of a run are found from every folder, also where others have their names", () =>
  withRun(async (folder) => {
    const run = `${folder}/project/runs/first/config.yaml`;
    const found = [`${folder}/data.jsonl`, `${folder}/project/mine/own.ts`, "org/name"];
    assert.deepEqual(await filesOf(run, `${folder}/other/place`), found);
    assert.deepEqual(await filesOf("project/runs/first/config.yaml", folder), [
      found[0],
      "project/mine/own.ts",
      "org/name",
    ]);
    const here = ["../data.jsonl", "mine/own.ts", "org/name"];
    assert.deepEqual(await filesOf("runs/first/config.yaml", `${folder}/project`), here);
    const text = await Deno.readTextFile(run);
    const absolute = await textWithFilesOfRun(text, run, `${folder}/other/place`);
    assert.deepEqual(changedKeys(text, absolute), ["data.dataset_name", "rewards", "tools"]);
    const same = await textWithFilesOfRun(text, run, `${folder}/project`);
    assert.deepEqual(changedKeys(text, same), []);
    assert.equal(await textWithFilesOfRun("{", run, folder), "{");
    // The folder is moved with its data.
    await Deno.mkdir(`${folder}/moved`);
    await Deno.rename(`${folder}/project`, `${folder}/moved/project`);
    await Deno.rename(`${folder}/data.jsonl`, `${folder}/moved/data.jsonl`);
    const moved = `${folder}/moved/project/runs/first/config.yaml`;
    assert.equal((await filesOf(moved, `${folder}/other/place`))[0], `${folder}/moved/data.jsonl`);
    // Another file with the name of one that is gone is not taken for it.
    await Deno.remove(`${folder}/moved/data.jsonl`);
    await assert.rejects(
      filesOf(moved, `${folder}/other/place`),
      new RegExp(`data.dataset_name: no such file: ${folder}/(?:moved/)?data.jsonl`),
    );
  }));

Deno.test("run.json says where a run was started whose output_dir is absolute, or that was moved", () =>
  withRun(async (folder) => {
    const copy = `${folder}/other/copy`;
    await Deno.rename(`${folder}/project/runs/first`, copy);
    const [data] = await filesOf(`${copy}/config.yaml`, `${folder}/other/place`);
    assert.equal(data, `${folder}/data.jsonl`);
    // A configuration that belongs to no run is read as any other.
    await Deno.remove(`${copy}/run.json`);
    await Deno.rename(`${folder}/project/mine`, `${folder}/other/place/mine`);
    const [plain] = await filesOf(`${copy}/config.yaml`, `${folder}/other/place`);
    assert.equal(plain, "../data.jsonl");
  }, "/somewhere/runs/first"));
