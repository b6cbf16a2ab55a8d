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
import { SamplerDrift } from "../metrics/rollout_metrics.ts";
import { idsOf, logprobsOf, lossMask, perToken } from "../../bench/dialogue/segments.ts";
import { promptOf, type Rollout, type RolloutRow } from "../rollout/rollout.ts";
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
  const kept = rollout.rows.filter((row) => row.kept);
  const masked = (row: RolloutRow) => training.mask_truncated_completions && row.truncated;
  const firstOf = (row: RolloutRow) => rollout.rows.find(({ group }) => group === row.group)!;
  const sampled = kept.map((row) => masked(row) ? [] : logprobsOf(row));
  let rows: TrainingRow[] = kept.map((row) => {
    const { promptId, teacherPrompt } = rollout.groups[row.group]!;
    const prompt = promptOf(rollout, row);
    // Rows whose prompts differ are packed as groups of their own.
    const own = prompt !== promptOf(rollout, firstOf(row));
    return {
      group: own ? promptId + (row.branch + 1) / OWN_GROUPS : promptId,
      promptId,
      branch: row.branch,
      promptIds: prompt.ids,
      ...(own || teacherPrompt === undefined ? {} : { teacherPromptIds: teacherPrompt.ids }),
      ids: masked(row) ? [] : idsOf(row),
      mask: masked(row) ? null : lossMask(row),
      advantage: row.advantage,
      ...(row.turnAdvantages === undefined ? {} : {
        tokenAdvantages: masked(row) ? [] : perToken(row, row.turnAdvantages),
      }),
      oldLogp: null,
    };
  });
  // With dropout, the training pass does not compute the log-probabilities of the policy.
  if (training.use_rollout_log_probs) {
    rows = rows.map((row, i) => ({ ...row, oldLogp: sampled[i]! }));
  } else if (schedule.needsOldLogp || (other && hasDropout)) {
    const old = await policyLogp(rows);
    rows = rows.map((row, i) => ({ ...row, oldLogp: old[i]! }));
    if (!other) {
      const drift = new SamplerDrift();
      rows.forEach(({ mask }, i) =>
        drift.add(counted(old[i]!, mask), 0, counted(sampled[i]!, mask))
      );
      Object.assign(rollout.metrics, drift.metrics());
    }
  }
  // The training pass uses the policy that has sampled, unless there is dropout.
  if (other || (!schedule.needsOldLogp && !hasDropout)) {
    rows = rows.map((row, i) => ({ ...row, samplerLogp: sampled[i]! }));
  }
  return new RolloutBuffer(generation, schedule.options.stepsPerGeneration, rows, other);
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
    const tokens = rows.flatMap((row) => [...row.ids]);
    const prompts = groups.flatMap((row) => [...row.promptIds]);
    const isTaught = groups.some((row) => row.teacherPromptIds !== undefined);
    const taught = groups.map((row) => row.teacherPromptIds ?? []);
    const hasOld = rows.every((row) => row.oldLogp !== null);
    const hasSampler = rows.every((row) => row.samplerLogp !== undefined);
    const words = (name: string, values: readonly number[]) => ({
      name,
      dtype: "U32" as const,
      shape: [values.length],
      data: Uint32Array.from(values),
    });
    const numbers = (name: string, values: readonly number[]) => ({
      name,
      dtype: "F64" as const,
      shape: [values.length],
      data: Float64Array.from(values),
    });
    return encodeSafetensors([
      words("prompt_ids", prompts),
      words("prompt_lengths", groups.map((row) => row.promptIds.length)),
      // Without tokens where the teacher sees the same prompt.
      ...(isTaught
        ? [
          words("teacher_prompt_ids", taught.flat()),
          words("teacher_prompt_lengths", taught.map(({ length }) => length)),
        ]
        : []),
      words("completion_ids", tokens),
      words("completion_lengths", rows.map((row) => row.ids.length)),
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
      ...(rows.every((row) => row.tokenAdvantages === undefined) ? [] : [
        numbers("token_advantage", rows.flatMap((row) => [...row.tokenAdvantages!])),
      ]),
      ...(hasOld ? [numbers("old_logp", rows.flatMap((row) => Array.from(row.oldLogp!)))] : []),
      ...(hasSampler
        ? [numbers("sampler_logp", rows.flatMap((row) => Array.from(row.samplerLogp!)))]
        : []),
    ], {
      generation: String(this.generation),
      slices: String(this.slices),
      ...(this.other ? { sampler: "other" } : {}),
    });
  }

  /** Reads what `encode` wrote. @throws RgxError for any other file */
  static async decode(bytes: Uint8Array, label: string): Promise<RolloutBuffer> {
    const file = await parseSafetensors(bytes, label);
    const [prompts, promptLengths, ids, lengths, firsts, branches] = await Promise.all(
      [
        "prompt_ids",
        "prompt_lengths",
        "completion_ids",
        "completion_lengths",
        "first_of_group",
        "branch",
      ].map(async (name) => Array.from(await file.integers(name), Number)),
    ) as [number[], number[], number[], number[], number[], number[]];
    const numbers = (name: string) => file.float64(name);
    const promptIds = await numbers("prompt_number"), groups = await numbers("group");
    const advantages = await numbers("advantage");
    const ifThere = async (name: string) => file.tensors.has(name) ? await numbers(name) : null;
    const old = await ifThere("old_logp"), sampler = await ifThere("sampler_logp");
    const turns = await ifThere("token_advantage");
    const mask = file.tensors.has("loss_mask")
      ? Array.from(await file.integers("loss_mask"), Number)
      : null;
    const [taught, taughtLengths] = await Promise.all(
      ["teacher_prompt_ids", "teacher_prompt_lengths"].map(async (name) =>
        file.tensors.has(name) ? Array.from(await file.integers(name), Number) : []
      ),
    ) as [number[], number[]];
    const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
    const counts = [firsts, branches, promptIds, groups, advantages].map((list) => list.length);
    const generation = Number(file.metadata.generation), slices = Number(file.metadata.slices);
    const agrees = counts.every((count) => count === lengths.length) &&
      total(lengths) === ids.length && total(promptLengths) === prompts.length &&
      total(taughtLengths) === taught.length &&
      [0, promptLengths.length].includes(taughtLengths.length) &&
      (firsts.length === 0 || firsts[0] === 1) &&
      firsts.filter((first) => first === 1).length === promptLengths.length &&
      [old, sampler, mask, turns].every((values) =>
        values === null || values.length === ids.length
      ) &&
      [generation, slices].every((count) => Number.isSafeInteger(count) && count >= 0);
    if (!agrees) {
      throw new RgxError(`${label}: its tensors do not belong together`, {
        advice: "Resume from another checkpoint.",
      });
    }
    const rows: TrainingRow[] = [];
    let prompt: readonly number[] = [], promptAt = 0, group = 0, at = 0;
    let teacherPrompt: readonly number[] = [], taughtAt = 0;
    for (const [i, length] of lengths.entries()) {
      if (firsts[i] === 1) {
        teacherPrompt = taught.slice(taughtAt, taughtAt += taughtLengths[group] ?? 0);
        prompt = prompts.slice(promptAt, promptAt += promptLengths[group++]!);
      }
      rows.push({
        group: groups[i]!,
        promptId: promptIds[i]!,
        branch: branches[i]!,
        promptIds: prompt,
        ...(teacherPrompt.length === 0 ? {} : { teacherPromptIds: teacherPrompt }),
        ids: ids.slice(at, at + length),
        ...(mask === null ? {} : { mask: mask.slice(at, at + length) }),
        advantage: advantages[i]!,
        ...(turns === null ? {} : { tokenAdvantages: [...turns.slice(at, at + length)] }),
        oldLogp: old?.slice(at, at + length) ?? null,
        ...(sampler === null ? {} : { samplerLogp: sampler.slice(at, at + length) }),
      });
      at += length;
    }
    return new RolloutBuffer(generation, slices, rows, file.metadata.sampler === "other");
  }
}
