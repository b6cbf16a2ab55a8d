/**
 * A generation batch as it is trained on: its completions as rows, cut into one slice for each
 * micro-batch. The policy changes while the batch is trained on, so a checkpoint made in between
 * holds the whole batch (`rollout.safetensors`): token ids, advantages, and log-probabilities at
 * the time of the generation. Texts and rewards are in the completions table of the step that
 * generated them.
 *
 * The slices have equal sizes, or differ by one row, and keep the order of the prompts; so groups
 * stay together where the sizes allow it (TRL permutes rows instead). If dynamic sampling could not
 * fill the batch, its slices are smaller, and some may be empty.
 */
import { RgxError } from "../../core/errors.ts";
import { encodeSafetensors } from "../../models/formats/safetensors/safetensors_writer.ts";
import { parseSafetensors } from "../../models/formats/safetensors/safetensors.ts";
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { driftMetrics, driftOf, joinedSums } from "../metrics/rollout_metrics.ts";
import { idsOf, logprobsOf, lossMask, perToken } from "../../bench/dialogue/segments.ts";
import { promptOf, type Rollout, type RolloutRow, trainedRows } from "../rollout/rollout.ts";
import { counted, type TrainingRow } from "./gradient_accumulation.ts";
import type { MicroSchedule } from "./micro_schedule.ts";

/** Greater than the number of completions that a prompt may have. */
const OWN_GROUPS = 2 ** 13;

/**
 * The rows of a rollout for training, with log-probabilities of the present policy where they are
 * needed; their difference to the sampler's is added to the metrics of the rollout.
 */
export async function bufferOf(
  generation: number,
  rollout: Rollout,
  { training, schedule, hasDropout, policyLogp }: {
    training: RunConfig["training"];
    schedule: MicroSchedule;
    hasDropout: boolean;
    /** Log-probabilities under the present policy, without dropout. */
    policyLogp: (rows: readonly TrainingRow[]) => Promise<ArrayLike<number>[]>;
  },
): Promise<RolloutBuffer> {
  const { other } = rollout;
  const kept = rollout.rows.filter((row) => row.kept)
    .flatMap((row) => trainedRows(rollout, row).map((part, number) => ({ row, part, number })));
  const firstOf = (row: RolloutRow) => rollout.rows.find(({ group }) => group === row.group)!;
  const masked = (row: RolloutRow) => training.mask_truncated_completions && row.truncated;
  const sampled = kept.map(({ row, part }) => masked(row) ? [] : logprobsOf(part));
  const rows = kept.map(({ row, part, number }): TrainingRow => {
    const { promptId, teacherPrompt } = rollout.groups[row.group]!, isMasked = masked(row);
    const { prompt, turns } = part;
    // Rows whose prompts differ are packed as groups of their own.
    const own = prompt !== promptOf(rollout, firstOf(row));
    return {
      group: own ? promptId + (row.branch + 1 + number / OWN_GROUPS) / OWN_GROUPS : promptId,
      promptId,
      branch: row.branch,
      promptIds: prompt.ids,
      ...(own || teacherPrompt === undefined ? {} : { teacherPromptIds: teacherPrompt.ids }),
      ids: isMasked ? [] : idsOf(part),
      mask: isMasked ? null : lossMask(part),
      advantage: row.advantage,
      ...(row.turnAdvantages === undefined ? {} : {
        tokenAdvantages: isMasked
          ? []
          : perToken(part, turns.map((turn) => row.turnAdvantages![turn]!)),
      }),
      oldLogp: null,
    };
  });
  // With dropout, the training pass does not compute the log-probabilities of the policy.
  const needsOld = schedule.needsOldLogp || (other && hasDropout);
  const old = training.use_rollout_log_probs ? sampled : needsOld ? await policyLogp(rows) : null;
  if (old !== null && old !== sampled && !other) {
    const drift = rows.flatMap(({ mask }, i) =>
      driftOf(counted(old[i]!, mask), counted(sampled[i]!, mask))
    );
    Object.assign(rollout.metrics, driftMetrics(joinedSums(drift)));
  }
  // The training pass uses the policy that has sampled, unless there is dropout.
  const keepsSampled = other || (!schedule.needsOldLogp && !hasDropout);
  const whole = rows.map((row, i) => ({
    ...row,
    oldLogp: old?.[i] ?? null,
    ...(keepsSampled ? { samplerLogp: sampled[i]! } : {}),
  }));
  return new RolloutBuffer(generation, schedule.options.stepsPerGeneration, whole, other);
}

export class RolloutBuffer {
  constructor(
    /** Number of the generation batch in the run. */
    readonly generation: number,
    readonly slices: number,
    readonly rows: readonly TrainingRow[],
    /** Another engine or an older policy sampled the rows, which have `samplerLogp`. */
    readonly other = false,
  ) {}

  slice(index: number): readonly TrainingRow[] {
    const edge = (i: number) => Math.floor((i * this.rows.length) / this.slices);
    return this.rows.slice(edge(index), edge(index + 1));
  }

  /** The exact content of a safetensors file. */
  encode(): Uint8Array<ArrayBuffer> {
    const { rows } = this;
    const firsts = rows.map((row, i) => i === 0 || rows[i - 1]!.group !== row.group);
    const groups = rows.filter((_, i) => firsts[i]);
    const taught = groups.map((row) => row.teacherPromptIds ?? []);
    const ofTokens = (
      name: string,
      of: (row: TrainingRow) => ArrayLike<number> | null | undefined,
    ) => {
      const values = rows.map(of);
      if (values.some((value) => value == null)) return [];
      return [numbers(name, values.flatMap((part) => Array.from(part!)))];
    };
    return encodeSafetensors([
      ...lists("prompt", groups.map((row) => row.promptIds)),
      // Without tokens where the teacher sees the same prompt.
      ...(taught.flat().length === 0 ? [] : lists("teacher_prompt", taught)),
      ...lists("completion", rows.map((row) => row.ids)),
      words("first_of_group", firsts.map(Number)),
      words("branch", rows.map((row) => row.branch)),
      // The numbers of prompts may need more than 32 bits.
      numbers("prompt_number", rows.map((row) => row.promptId)),
      numbers("group", rows.map((row) => row.group)),
      numbers("advantage", rows.map((row) => row.advantage)),
      // 1 for the tokens that the loss counts; left out where it counts all.
      ...(rows.every(({ mask }) => !mask) ? [] : [
        words("loss_mask", rows.flatMap(({ ids, mask }) => mask ?? ids.map(() => 1))),
      ]),
      ...ofTokens("token_advantage", (row) => row.tokenAdvantages),
      ...ofTokens("old_logp", (row) => row.oldLogp),
      ...ofTokens("sampler_logp", (row) => row.samplerLogp),
    ], {
      generation: String(this.generation),
      slices: String(this.slices),
      ...(this.other ? { sampler: "other" } : {}),
    });
  }

  /** Reads what `encode` wrote. @throws RgxError for any other file */
  static async decode(bytes: Uint8Array, label: string): Promise<RolloutBuffer> {
    const file = await parseSafetensors(bytes, label);
    const ensure = (agrees: boolean) => {
      if (agrees) return;
      throw new RgxError(`${label}: its tensors do not belong together`, {
        advice: "Resume from another checkpoint.",
      });
    };
    /** Lists of these lengths, from one that has all of their values. */
    const cut = <T extends { slice(begin: number, end: number): T; length: number }>(
      values: T,
      lengths: readonly number[],
    ): T[] => {
      let at = 0;
      const parts = lengths.map((length) => values.slice(at, at += length));
      ensure(at === values.length);
      return parts;
    };
    const integers = async (name: string) => Array.from(await file.integers(name), Number);
    const lengthsOf = (name: string) => integers(`${name}_lengths`);
    const listsOf = async (name: string) =>
      cut(await integers(`${name}_ids`), await lengthsOf(name));
    const has = (name: string) => file.tensors.has(name), lengths = await lengthsOf("completion");
    const ofTokens = async (name: string) =>
      has(name) ? cut(await file.float64(name), lengths) : null;
    const prompts = await listsOf("prompt"), completions = await listsOf("completion");
    const taught = has("teacher_prompt_ids")
      ? await listsOf("teacher_prompt")
      : prompts.map(() => []);
    const firsts = await integers("first_of_group"), branches = await integers("branch");
    const promptIds = await file.float64("prompt_number"), groups = await file.float64("group");
    const advantages = await file.float64("advantage");
    const masks = has("loss_mask") ? cut(await integers("loss_mask"), lengths) : null;
    const turns = await ofTokens("token_advantage"), old = await ofTokens("old_logp");
    const sampler = await ofTokens("sampler_logp");
    const generation = Number(file.metadata.generation), slices = Number(file.metadata.slices);
    for (const { length } of [firsts, branches, promptIds, groups, advantages]) {
      ensure(length === lengths.length);
    }
    ensure(firsts.length === 0 || firsts[0] === 1);
    ensure(firsts.filter((first) => first === 1).length === prompts.length);
    ensure(taught.length === prompts.length);
    for (const count of [generation, slices]) ensure(Number.isSafeInteger(count) && count >= 0);
    let group = -1;
    const rows = completions.map((ids, i): TrainingRow => {
      if (firsts[i] === 1) group++;
      const teacherPromptIds = taught[group]!;
      return {
        group: groups[i]!,
        promptId: promptIds[i]!,
        branch: branches[i]!,
        promptIds: prompts[group]!,
        ...(teacherPromptIds.length === 0 ? {} : { teacherPromptIds }),
        ids,
        ...(masks && { mask: masks[i]! }),
        advantage: advantages[i]!,
        ...(turns && { tokenAdvantages: [...turns[i]!] }),
        oldLogp: old?.[i] ?? null,
        ...(sampler && { samplerLogp: sampler[i]! }),
      };
    });
    return new RolloutBuffer(generation, slices, rows, file.metadata.sampler === "other");
  }
}

function words(name: string, values: readonly number[]) {
  return { name, dtype: "U32" as const, shape: [values.length], data: Uint32Array.from(values) };
}

function numbers(name: string, values: readonly number[]) {
  return { name, dtype: "F64" as const, shape: [values.length], data: Float64Array.from(values) };
}

/** Lists of ids, one after the other, and their lengths. */
function lists(name: string, values: readonly (readonly number[])[]) {
  return [
    words(`${name}_ids`, values.flat()),
    words(`${name}_lengths`, values.map(({ length }) => length)),
  ];
}
