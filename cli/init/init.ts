/**
 * `rgx init`: writes a project. Its model is tiny and made from a seed, with sizes and an alphabet
 * that fit the problems, so that it trains at once.
 */
import { basename, relative, resolve } from "node:path";
import { shellWord } from "../../cluster/quote.ts";
import { slurmScript } from "../../cluster/train_script.ts";
import { planJob } from "../cluster/job_needs.ts";
import { makeFolder, writeFileAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { exists, isFolder } from "../../core/paths.ts";
import { log, print } from "../terminal/terminal.ts";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { experiment, measureData, measureTask, type ProjectProblems } from "./experiment.ts";
import chatTemplate from "./project/chat_template.jinja" with { type: "text" };
import readme from "./project/readme.md" with { type: "text" };
import reward from "./project/short_answer.ts" with { type: "text" };
import rewardInPython from "./project/short_answer.py.txt" with { type: "text" };
import cases from "./project/short_answer_cases.jsonl" with { type: "text" };
import sameWords from "./project/same_words.ts" with { type: "text" };
import sameWordsCases from "./project/same_words_cases.jsonl" with { type: "text" };
import type { Flags } from "../flags.ts";
import type { INIT } from "../flag_tables.ts";

type InitOptions = Flags<typeof INIT>;

/** The problems of a project that names none: short words, which a tiny model learns to turn. */
const TASK = "spell_backward";

/** The account in the job script, which the user replaces. */
const ACCOUNT = "my_account";

export async function init(given: string, options: InitOptions): Promise<void> {
  const { task, data, reward: asked } = options, inPython = /\.py$/.test(asked);
  const name = asked.replace(/\.py$/, ""), file = `${name}.${inPython ? "py" : "ts"}`;
  if (task !== undefined && data !== undefined) {
    throw new UsageError("--task and --data: a project has the problems of one of them");
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new UsageError(
      `--reward ${asked}: expected a name of letters, digits and _, or one ending in .py`,
    );
  }
  const folder = resolve(given);
  // Everything is read before anything is written.
  const problems = await problemsOf(task ?? TASK, data, folder);
  const written = (text: string) =>
    (inPython
      ? text.replace(/^( {4}rgx (?:rewards test|train|slurm) \S+)/gm, "$1 --allow-python")
      : text)
      .replaceAll("short_answer.ts", file).replaceAll("short_answer", name);
  const files: Record<string, string> = {
    "experiment.yaml": experiment(problems, file),
    ...(problems.sizes.isChat && { "chat_template.jinja": chatTemplate }),
    [`rewards/${file}`]: inPython
      ? rewardInPython.replaceAll("short_answer", name)
      : written(reward),
    [`rewards/${name}_cases.jsonl`]: cases,
    ...(!problems.sizes.isFound && {
      "rewards/same_words.ts": sameWords,
      "rewards/same_words_cases.jsonl": sameWordsCases,
    }),
    "README.md": written(readme).replace("{{name}}", basename(folder))
      .replace("{{problems}}", `the problems of \`${problems.task ?? problems.data}\``),
  };
  if (await exists(folder) && !await isFolder(folder)) {
    throw new UsageError(`${given}: it is a file, expected a folder`, {
      advice: "Name an empty folder, or one that does not exist yet.",
    });
  }
  for (const path of [...Object.keys(files), "job.sh"]) {
    const found = await Deno.lstat(`${folder}/${path}`).catch(() => null);
    if (found === null) continue;
    throw new UsageError(`${given}: ${path} is there already`, {
      advice: "Name an empty folder, or one that does not exist yet.",
    });
  }
  const wasThere = await exists(folder);
  await makeFolder(`${folder}/rewards`);
  for (const [path, text] of Object.entries(files)) {
    await writeFileAtomic(`${folder}/${path}`, text);
  }
  const script = await slurmScript("experiment.yaml", ACCOUNT, {
    allowPython: inPython,
    workDir: folder,
    gpus: 0,
    plan: (runs, ranks, notes) =>
      planJob(runs, { device: "wasm", workDir: folder, mayComeLater: true, ranks }, notes),
  }).catch(async (error) => {
    // The plan finds problems that cannot be trained on, before half of a project is written.
    const written = wasThere ? [...Object.keys(files), "rewards"] : ["."];
    for (const path of written) {
      await Deno.remove(`${folder}/${path}`, { recursive: !wasThere }).catch(() => {});
    }
    throw error;
  });
  await Deno.mkdir(script.logs, { recursive: true });
  await writeFileAtomic(`${folder}/job.sh`, script.text);
  const paths = [...Object.keys(files), "job.sh"];
  if (options.json) return print(JSON.stringify({ folder, files: paths }));
  print(paths.map((path) => given === "." ? path : `${given}/${path}`).join("\n"));
  log(
    `train it with: ${given === "." ? "" : `cd ${shellWord(given)} && `}rgx train experiment.yaml` +
      (inPython ? " --allow-python" : ""),
  );
}

/** The problems of the project. Paths are relative to the folder of the project. */
async function problemsOf(
  task: string,
  data: string | undefined,
  folder: string,
): Promise<ProjectProblems> {
  if (data !== undefined) {
    const sizes = await measureData(data);
    return { data: relative(folder, resolve(data)), params: {}, sizes };
  }
  const measured = measureTask(await taskNameOf(task));
  return { task: isCodePath(task) ? relative(folder, resolve(task)) : task, ...measured };
}
