/**
 * The completions of a run, filtered and searched, from `completions/completions_{step}.parquet`.
 * The newest step comes first. A search reads step after step until a page is full, or until it has
 * looked at many steps; the next page goes on from there.
 */
import type { Context } from "hono";
import { answerOf } from "../../../data/score_completion.ts";
import { numberOf, OTHER_COLUMNS, textOf } from "../../run_report/run_record.ts";
import { readTable, stepsWithTables, tablePath } from "../../../training/rescore/stored_steps.ts";
import { plainFile } from "./plain_file.ts";
import { choice, limitOf, number, text } from "./query.ts";

/** What is left out. */
export type CompletionFilter = ReturnType<typeof completionFilter>;

/** Number of steps that one page looks at. */
const MAX_STEPS = 200;
const MAX_FILE_BYTES = 2 ** 28;

export type CompletionRow = Awaited<ReturnType<typeof readStep>>[number];
export type CompletionPage = Awaited<ReturnType<typeof readCompletions>>;

export function completionFilter(c: Context) {
  const after = text(c, "after");
  return {
    /** First and last step. */
    from: number(c, "from"),
    to: number(c, "to"),
    /** Texts that the prompt, and that the completion contains, in any case. */
    prompt: text(c, "prompt"),
    text: text(c, "text"),
    answer: choice(c, "answer", ["any", "found", "none"]),
    advantage: choice(c, "advantage", ["any", "positive", "negative", "zero"]),
    /** Name of a reward, and the range of its values; "": the rewards are not looked at. */
    reward: text(c, "reward"),
    min: number(c, "min"),
    max: number(c, "max"),
    /** The last row of the page before: `step:row`. */
    after: /^\d+:-?\d+$/.test(after) ? after : null,
    limit: limitOf(c),
  };
}

/**
 * @param source name of the task or data set, which says how answers are extracted
 * @param filter what is left out
 */
export async function readCompletions(
  folder: string,
  source: string | null,
  filter: Partial<CompletionFilter> = {},
) {
  const { after = null, limit = 50 } = filter;
  const steps = await stepsIn(folder), problems: string[] = [];
  const [afterStep, afterRow] = (after ?? "").split(":").map(Number);
  const wanted = steps.filter((step) =>
    step >= (filter.from ?? 0) && step <= (filter.to ?? Infinity) &&
    (after === null || step <= afterStep!)
  ).reverse();
  const rows: CompletionRow[] = [];
  let next: string | null = null, searched = 0;
  for (const step of wanted) {
    if (searched === MAX_STEPS) {
      next = `${step}:-1`;
      break;
    }
    searched++;
    const all = await readStep(folder, step, source, problems);
    const found = all.filter((row) => fits(row, filter))
      .filter(({ row }) => step !== afterStep || row > afterRow!);
    rows.push(...found.slice(0, limit - rows.length));
    if (rows.length === limit) {
      const last = rows.at(-1)!;
      const isEnd = step === wanted.at(-1) && last === found.at(-1);
      next = isEnd ? null : `${last.step}:${last.row}`;
      break;
    }
  }
  const rewards = Object.keys(
    rows[0]?.rewards ?? (await readStep(folder, steps.at(-1) ?? 0, source, []))[0]?.rewards ?? {},
  );
  return {
    rows,
    /** Where the next page begins; null at the end. */
    next,
    /** Steps that have completions. */
    steps: steps.length === 0
      ? null
      : { first: steps[0]!, last: steps.at(-1)!, count: steps.length },
    problems,
    /** All rewards of the run. */
    rewards,
  };
}

/** The steps with a table; none where the folder of tables is a link to somewhere else. */
async function stepsIn(folder: string): Promise<number[]> {
  const isFolder = await Deno.lstat(`${folder}/completions`)
    .then(({ isDirectory }) => isDirectory, () => false);
  return isFolder ? await stepsWithTables(folder).catch(() => []) : [];
}

/** The rows of a step's table; none without it. @throws RgxError for a link or a damaged table */
export async function plainRows(folder: string, step: number): Promise<Record<string, unknown>[]> {
  const isThere = (await stepsIn(folder)).includes(step) &&
    await plainFile(tablePath(folder, step), MAX_FILE_BYTES) !== null;
  return isThere ? (await readTable(folder, step)).rows : [];
}

async function readStep(
  folder: string,
  step: number,
  source: string | null,
  problems: string[],
) {
  const path = tablePath(folder, step);
  const wrong = (problem: string) => {
    problems.push(problem);
    return null;
  };
  const file = await plainFile(path, MAX_FILE_BYTES).catch((error) =>
    wrong((error as Error).message)
  );
  if (file === null) return [];
  const table = await readTable(folder, step)
    .catch(() => wrong(`${path} is cut or still being written; it was left out`));
  if (table === null) return [];
  const { rows } = table;
  const names = Object.keys(rows[0] ?? {});
  // Rewards stand before the advantage, and columns that they have written after it.
  const rewardNames = names.slice(0, Math.max(0, names.indexOf("advantage")))
    .filter((name) => !OTHER_COLUMNS.has(name));
  const extraNames = names.slice(names.indexOf("advantage") + 1)
    .filter((name) => !OTHER_COLUMNS.has(name));
  const pick = (row: Record<string, unknown>, chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((name) => [name, plain(row[name])]));
  return rows.map((row, i) => {
    const completion = String(row["completion"] ?? ""), prompt = String(row["prompt"] ?? "");
    return {
      step,
      /** Position in the file of the step. */
      row: i,
      prompt,
      completion,
      /** The right answer; null: many are right, or it was not recorded. */
      expected: textOf(row["expected"]),
      /** The messages of a dialogue; null: one answer. The loss counts those of the assistant. */
      dialogue: Array.isArray(row["dialogue"]) ? row["dialogue"].map(messageOf) : null,
      /** Why it ended, if not by itself. */
      ending: textOf(row["stop"]) ?? (row["truncated"] === true ? "cut off" : null),
      /** null: no answer was found. */
      extracted: answerOf(completion, { metadata: { source_dataset: source } }, prompt),
      rewards: pick(row, rewardNames) as Record<string, number | null>,
      advantage: numberOf(row["advantage"]),
      /** Further columns that rewards have written. */
      extras: pick(row, extraNames),
    };
  });
}

/** A message with its calls of tools as text. */
function messageOf(message: unknown): { role: string; text: string } {
  const { role, content, tool_calls: calls } = message as Record<string, unknown>;
  const called = (Array.isArray(calls) ? calls : []).map((call) => {
    const { name, arguments: given } = call.function ?? call;
    return `${name}(${typeof given === "string" ? given : JSON.stringify(given)})`;
  });
  const said = typeof content === "string" ? content : content ? JSON.stringify(content) : "";
  return { role: String(role), text: [said, ...called].filter((one) => one !== "").join("\n") };
}

function plain(value: unknown): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "number" || typeof value === "boolean" ? value : String(value);
}

function fits(row: CompletionRow, filter: Partial<CompletionFilter>): boolean {
  const { prompt = "", text = "", answer = "any", advantage = "any" } = filter;
  const { reward = "", min, max } = filter;
  if (!contains(row.prompt, prompt) || !contains(row.completion, text)) return false;
  if (answer !== "any" && (row.extracted !== null) !== (answer === "found")) return false;
  if (advantage !== "any") {
    const sign = Math.sign(row.advantage ?? NaN);
    if (sign !== { positive: 1, negative: -1, zero: 0 }[advantage]) return false;
  }
  if (reward === "") return true;
  const value = row.rewards[reward];
  return typeof value === "number" && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
}

function contains(text: string, part: string): boolean {
  return part === "" || text.toLowerCase().includes(part.toLowerCase());
}
