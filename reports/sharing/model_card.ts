/**
 * The card of an uploaded model: base, data, results with intervals, a chart, the configuration and
 * the licence. It holds no path of this machine, except those that the configuration names, and no
 * token.
 */
import { stringify } from "yaml";
import { VERSION } from "../../core/version.ts";
import { nameAndRevision } from "../../hub/find_model.ts";
import { isRepositoryName } from "../../hub/repository.ts";
import { fenced, markdownTable } from "../run_report/markdown.ts";
import type { Json, RunRecord } from "../run_report/run_record.ts";
import { reportSections } from "../run_report/sections.ts";

export interface CardOptions {
  /** Title, usually the repository's name. */
  name: string;
  /** null: only the files say something. */
  record: RunRecord | null;
  step: number | null;
  /** Base model on the Hub; null: the one of the configuration, if it is on the Hub. */
  base: string | null;
  /** Identifier of the licence; null: that of the base applies. */
  license: string | null;
  isAdapter: boolean;
  hasChart: boolean;
  /** Folder with the state of the optimizer in the repository; null: there is none. */
  optimizer: string | null;
}

export function modelCardText(options: CardOptions): string {
  const { name, record, step, license, isAdapter, hasChart, optimizer } = options;
  const config = record?.config ?? {}, base = options.base ?? hubName(section(config, "model"));
  const data = section(config, "data"), training = section(config, "training");
  const dataset = text(data["dataset_name"]);
  const task = taskNames(data), sections = record === null ? null : reportSections(record);
  const head = {
    ...(base === null ? {} : { base_model: base }),
    ...(license === null ? {} : { license }),
    ...(dataset !== null && isRepositoryName(dataset) && dataset.includes("/")
      ? { datasets: [dataset] }
      : {}),
    library_name: isAdapter ? "peft" : "transformers",
    pipeline_tag: "text-generation",
    tags: ["grpo", "reasoning", "rgx"],
    ...(record === null ? {} : modelIndex(name, task, record.run)),
  };
  const parts = [
    `---\n${stringify(head, { lineWidth: 0 })}---`,
    `# ${name}`,
    `${isAdapter ? "A LoRA adapter" : "A model"}${
      base === null ? "" : ` of [${base}](https://huggingface.co/${base})`
    }${task === null ? "" : `, trained on ${task}`} with GRPO by rgx ${VERSION}${
      step === null ? "" : ` (step ${step})`
    }.`,
  ];
  if (sections !== null) {
    parts.push("## Results", sections.verdict);
    if (sections.evaluation !== null) {
      parts.push(markdownTable(sections.evaluation), "Intervals are 95 % intervals.");
    }
    if (hasChart) parts.push("![Curves of the training](curves.png)");
  }
  parts.push("## Use", fenced(usage(name, base, isAdapter), "python"));
  if (record !== null) {
    const facts = [
      ["data", task ?? "–"],
      ["loss", text(training["loss_type"]) ?? "–"],
      ["learning rate", String(training["learning_rate"] ?? "–")],
      ["completions a prompt", String(training["num_generations"] ?? "–")],
      ["KL coefficient", String(training["beta"] ?? "–")],
      ["seed", String(training["seed"] ?? "–")],
    ];
    parts.push(
      "## Training",
      markdownTable({ rows: [["setting", "value"], ...facts] }),
      `<details><summary>Configuration</summary>\n\n${
        fenced(withoutFolders(record.configText).trimEnd(), "yaml")
      }\n\n</details>`,
    );
  }
  if (optimizer !== null) {
    parts.push(
      "## Going on with the training",
      `\`${optimizer}/\` holds the state of the optimizer and all else that an exact resume ` +
        `needs: \`rgx train CONFIG --resume=${optimizer}\`.`,
    );
  }
  parts.push(
    "## Licence",
    license !== null
      ? `${license}. The licence of the base model applies to its weights too.`
      : base === null
      ? "No licence was named."
      : `The licence of [${base}](https://huggingface.co/${base}) applies.`,
  );
  return parts.join("\n\n") + "\n";
}

/** The results in the form that the Hub shows beside a model. */
function modelIndex(name: string, task: string | null, run: Json): Record<string, unknown> {
  const after = run["eval_after"] as Json | null | undefined, accuracy = after?.["accuracy"];
  if (typeof accuracy !== "number") return {};
  const greedy = (after!["greedy"] as Json | undefined)?.["accuracy"];
  return {
    "model-index": [{
      name,
      results: [{
        task: { type: "text-generation" },
        dataset: { type: task ?? "held-out", name: `${task ?? "held-out"} (held-out problems)` },
        metrics: [
          { type: "accuracy", name: "accuracy, sampled", value: accuracy },
          ...(typeof greedy === "number"
            ? [{ type: "accuracy", name: "accuracy, greedy", value: greedy }]
            : []),
        ],
      }],
    }],
  };
}

function usage(name: string, base: string | null, isAdapter: boolean): string {
  const load = isAdapter && base !== null
    ? [
      "from peft import PeftModel",
      "from transformers import AutoModelForCausalLM, AutoTokenizer",
      "",
      `model = AutoModelForCausalLM.from_pretrained("${base}")`,
      `model = PeftModel.from_pretrained(model, "${name}")`,
    ]
    : [
      "from transformers import AutoModelForCausalLM, AutoTokenizer",
      "",
      `model = AutoModelForCausalLM.from_pretrained("${name}")`,
    ];
  return [...load, `tokenizer = AutoTokenizer.from_pretrained("${name}")`].join("\n");
}

/** The model's name if it can be one of the Hub, and is no path. */
function hubName(model: Json): string | null {
  const name = text(model["model_name_or_path"]);
  if (name === null || isHere(name)) return null;
  const repository = nameAndRevision(name).name;
  return isRepositoryName(repository) ? repository : null;
}

function isHere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function taskNames(data: Json): string | null {
  const { tasks } = data;
  if (Array.isArray(tasks)) return tasks.map((task) => String(task?.task_name)).join(", ");
  return text(data["task_name"]) ?? text(data["dataset_name"]);
}

/** The configuration without the folder of the run, which says something about this machine. */
function withoutFolders(config: string): string {
  return config.replace(/^( *output_dir: ).*\/([^/\n]+)$/m, "$1./$2");
}

const text = (value: unknown) => typeof value === "string" ? value : null;
const section = (config: Json, name: string): Json =>
  typeof config[name] === "object" && config[name] !== null ? config[name] as Json : {};
