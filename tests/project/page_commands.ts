/**
 * For tests: the commands and files that the pages show, and what is run in place of a command that
 * needs a network, a card or a cluster, or would take long.
 */
import { rgxProgram } from "../support.ts";

export interface PageCommand {
  page: string;
  line: number;
  /** What is typed, in one line, without its comment. */
  text: string;
}

/** What is run for a command of a page. */
export interface Planned {
  /** What the shell runs; null: nothing. */
  shell: string | null;
  /** What a refusal says; null: the command must succeed. */
  refusal: RegExp | null;
  /** Of a server: its port in the page. It prints its address, and ends with 0 when told to. */
  port: string | null;
}

/** Name → text of the files that a page shows: their first line is a comment with the name. */
export function filesOf(page: string): Map<string, string> {
  const blocks = page.matchAll(/^```\w+\n(?:#|\/\/) (\S+\.\w+)[^\n]*\n([^]*?)^```$/gm);
  return new Map([...blocks].map(([, name, text]) => [name!, text!]));
}

/** The first block of a page that has some text, without its fence. */
export function blockWith(page: string, text: string): string {
  const blocks = [...page.matchAll(/^```.*\n([^]*?)^```$/gm)].map(([, block]) => block!);
  return blocks.find((block) => block.includes(text))!;
}

/** The programs that a page's commands begin with. */
const COMMAND =
  /^(?:rgx|deno|npx|curl|printf|srun|sbatch|mpirun|python3?|pip|ssh|export|[A-Z_]+=\S+) /;
/** A comment behind a command, which may have an apostrophe. */
const COMMENT = /\s+#\s.*$/;

/** The commands of a page: lines of indented and of shell blocks. */
export function commandsOf(page: string, text: string): PageCommand[] {
  const commands: PageCommand[] = [], lines = text.split("\n");
  let fence: string | null = null;
  for (let i = 0; i < lines.length; i++) {
    const begins = /^```(\w*)/.exec(lines[i]!);
    if (begins !== null) {
      fence = fence === null ? begins[1]! : null;
      continue;
    }
    const inside = fence === null ? /^ {4}(.*)/.exec(lines[i]!)?.[1] : lines[i]!;
    if (
      inside === undefined || (fence !== null && !["", "sh"].includes(fence)) ||
      !COMMAND.test(inside)
    ) {
      continue;
    }
    const line = i + 1;
    let command = inside.replace(COMMENT, "");
    // A backslash goes on in the next line, and so does an open quote.
    while (command.endsWith("\\") || command.split("'").length % 2 === 0) {
      const next = lines[++i]!.trim();
      command = command.endsWith("\\")
        ? command.slice(0, -1).trimEnd() + " " + next
        : command + next;
    }
    commands.push({ page, line, text: command.replace(COMMENT, "").trim() });
  }
  return commands;
}

/** One change of the commands in which a pattern occurs, and its reason. */
type Rule =
  & { find: RegExp; why: string; page?: string }
  & (
    | { put: string }
    | { refused: RegExp }
    | { skipped: true }
  );

/** In this order; each changes what the ones before it have left. */
const RULES: readonly Rule[] = [
  // Other programs.
  { find: /^(?:pip|python3?|export) /, skipped: true, why: "another program, or a variable" },
  { find: /^(?:npx .*|deno) (?:task|test|run) |=\w* +deno /, skipped: true, why: "a tool of ours" },
  { find: /^(?:srun|mpirun|ssh) .*?rgx /, put: "rgx ", why: "no cluster: what it starts is run" },
  {
    find: /^curl .*\/chat\/completions/,
    skipped: true,
    why: "the small models have no template of a chat",
  },
  {
    find: /--tools \.\/calculator\.ts/,
    refused: /tools cannot be shown/,
    why: "the small models have no template of a chat",
  },
  // Names that stand for a reader's own.
  { find: /\bMODEL\b|(?<=--models )M\b/g, put: "./model", why: "a name for any model" },
  { find: /\bCONFIG\b/, put: "my.yaml", why: "a name for any file" },
  { find: /\bRECIPE\b/, put: "smollm2_chain_sum", why: "a name for some recipes" },
  { find: /\bRUN…/, put: "experiments/my", why: "a name for some runs" },
  { find: /experiments\/my\/checkpoint-\d+/, put: "experiments/my", why: "another number" },
  { find: /\/shared\/runs/, put: "shared/runs", why: "a folder of the scratch folder" },
  { find: /their\.yaml/, put: "my.yaml", why: "a name for any file" },
  { find: /--steps 100-200/, put: "--steps 1-1", why: "the run has one step" },
  {
    find: /^rgx (?=rewards test rewards\/|train experiment\.yaml)/,
    put: "cd my_project && rgx ",
    why: "each command is run in the scratch folder, not where the one before it went",
  },
  {
    find: /train_files=train\.parquet/,
    refused: /train\.parquet|max_position/,
    why: "a reader's own data",
  },
  {
    find: /^rgx train gsm8k --model-name/,
    refused: /max_position_embeddings/,
    why: "the problems are longer than the small model takes",
  },
  { find: /^rgx slurm my\.yaml(?! my_)/, put: "$& my_account", why: "the file has no account" },
  {
    find: /\bmy_(?:run|experiment|recipe|full_fine_tuning)\.yaml/,
    put: "my.yaml",
    why: "one file",
  },
  // A network.
  { find: /^rgx pull /, refused: /HF_HUB_OFFLINE|offline/i, why: "the Hub" },
  {
    find: /^rgx train gsm8k (?!--model-name)/,
    refused: /rgx pull/,
    why: "a model and data of the Hub",
  },
  { find: /=hf:\/\/\S+/, refused: /rgx pull/, why: "data of the Hub" },
  { find: /--config-name algorithmic_qwen_3b/, refused: /rgx pull/, why: "a model of the Hub" },
  {
    find: /(?<!pull )\b(?:Qwen|HuggingFaceTB)\/[^\s"=]+(?!\S*=)/g,
    put: "./model",
    why: "a model of the Hub",
  },
  { find: /rewards test judge/, refused: /127\.0\.0\.1/, why: "a server that judges" },
  { find: /SmolLM2-135M-Instruct\.Q4_1\.gguf/, put: "model.gguf", why: "a model of 99 MB" },
  { find: / --set TASK\.KEY=VALUE…/, put: "", why: "a place for parameters" },
  {
    find: /^rgx train .*/,
    page: "docs/results.md",
    put: "$& --dry-run",
    why: "it fits a model with a chat template, for minutes or hours",
  },
  { find: /^rgx upload .*|.*push_to_hub=true.*/, put: "$& --dry-run", why: "the Hub" },
  {
    find: /openai:\S+|generation\.backend=openai|generate --base-url/,
    refused: /localhost|127\.0\.0\.1/,
    why: "a server",
  },
  { find: /^rgx env replay /, refused: /transcript\.jsonl/, why: "the run has no dialogues" },
  // Cards and ranks.
  { find: /--device vulkan/, put: "--device wasm", why: "the same on the processor" },
  { find: /--tune/, refused: /card|GPU|adapter|Vulkan/i, why: "cards are hidden" },
  { find: /^rgx train .*--ranks 4.*/, put: "$& --dry-run", why: "four ranks on two cores" },
  { find: / --ranks 4$/, put: "", why: "the same without four ranks" },
  // What takes long.
  { find: /(--max[-_]steps |max_steps=)\d+/, put: "$11", why: "one step is enough" },
  { find: /^(rgx sweep .*seed=1),2,3/, put: "$1", why: "two runs are enough" },
  { find: /--num-examples \d+/, put: "--num-examples 2", why: "two problems are enough" },
  { find: /^rgx bench (?!.*--num-examples).*/, put: "$& --num-examples 2", why: "two problems" },
  { find: /^rgx dpo .*/, put: "$& eval.num_examples=0", why: "the page's file has two rows" },
  { find: /^rgx eval .*/, put: "$& --limit 1", why: "one problem of each task is enough" },
  {
    find: /^rgx (?:slurm(?! --print)|export|convert) .*/,
    put: "$& --force",
    why: "the pages write one file many times, which is refused without --force",
  },
  {
    find: /^(?:cd my_project && )?rgx train (?!.*(?:--resume|--dry-run)).*/,
    put: "$& --force training.output_dir=again",
    why: "the pages train one file many times, which is refused in one folder",
  },
];

/** The commands that serve, and their ports. */
const PORTS = {
  "rgx serve": "8000",
  "rgx dashboard": "6080",
  "rgx score --serve": "8100",
  "rgx env serve": "8001",
};

export function planOf({ page, text }: PageCommand): Planned {
  let shell = text, refusal: RegExp | null = null;
  for (const rule of RULES) {
    if ((rule.page !== undefined && rule.page !== page) || shell.search(rule.find) < 0) continue;
    if ("skipped" in rule) return { shell: null, refusal: null, port: null };
    if ("refused" in rule) refusal ??= rule.refused;
    else shell = shell.replace(rule.find, rule.put);
  }
  const usual = Object.entries(PORTS).find(([begin]) => shell.startsWith(begin))?.[1] ?? null;
  const port = usual === null ? null : / --port (\d+)/.exec(shell)?.[1] ?? usual;
  if (port !== null) shell = shell.replace(/ --port \d+|$/, " --port 0");
  return { shell, refusal, port };
}

/** The files that a command says that it writes. */
export function outputsOf(shell: string): string[] {
  const plain = shell.replaceAll(/"[^"]*"|'[^']*'/g, "''");
  return [...plain.matchAll(/(?:--output|(?<![0-9&])>) ([\w./-]+)/g)].map(([, path]) => path!);
}

/**
 * Servers and ranks are processes of their own. Other commands have one process together
 * (`command_host.ts`): most take less time than the start of a process.
 */
const RGX = `#!/bin/sh
case " $* " in
  *" serve "* | *" dashboard "* | *" --serve "* | *" --ranks "*) exec MAIN "$@" ;;
esac
exec CLIENT "$@"
`;

/** Writes the program `bin/rgx` of a folder; RGX_TEST_HOST names the host of its commands. */
export async function writeProgram(folder: string): Promise<void> {
  const client = new URL("../command_client.ts", import.meta.url).pathname;
  const words = (program: readonly string[]) => program.map((word) => `"${word}"`).join(" ");
  const main = rgxProgram([]);
  await Deno.mkdir(`${folder}/bin`, { recursive: true });
  const text = RGX.replace("MAIN", words(main)).replace("CLIENT", words(main.with(-1, client)));
  await Deno.writeTextFile(`${folder}/bin/rgx`, text, { mode: 0o755 });
}
