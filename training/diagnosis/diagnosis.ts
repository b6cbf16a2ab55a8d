/**
 * Finds out from the metrics why a run does not get better, and advises which keys to try. It looks
 * at the latest steps, and at the best step so far. `Finding` lists what it can find: for
 * example that the policy has collapsed, that no group has a signal, or that all completions are
 * truncated. The same finding is reported once, and again only after many more steps. Left out:
 * what would need the texts of the completions.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import { mean, sampleStd } from "../../core/statistics.ts";
import { getTask, hasTask } from "../../tasks/registry.ts";
import type { Metrics } from "../metrics/metrics.ts";

const MIN_CERTAIN_STEPS = 3;
/** Number of windows after which the same finding is reported again. */
const SILENT_WINDOWS = 5;

const MANY_WITHOUT_SIGNAL = 0.95;
const MANY_TRUNCATED = 0.9;
const MUCH_CLIPPED = 0.3;
const LARGE_KL = 5;
const KL_GROWTH = 20;
const NO_ENTROPY = 0.02;
const SOLVED = 0.98;
const MANY_SKIPPED = 0.2;
/** A share of groups with a signal that is more than chance. */
const SOME_WITH_SIGNAL = 0.2;

/** Share of completions with an answer in tags; it is no metric of its own. */
export const TAGGED = "diagnosis/tagged";

/** The value of a right answer, for rewards where it is not 1. */
const FULL_MARKS: Readonly<Record<string, number>> = { check_answer_correctness: 3 };

/** Metrics of the rewards for the format of an answer. */
const FORMAT_METRICS = new Set(
  [
    "format_answer",
    "rg_format",
    "rg_format_strict",
    "rg_tag_count",
    "think_format_reward",
    "match_format_exactly",
  ].map((reward) => `rewards/${reward}/mean`),
);

export class Diagnosis {
  readonly #recent: RecentSteps;
  /** The best of the steps in which enough groups had a signal. */
  #best: { step: number; reward: number } | null = null;
  readonly #consistent = new ConsistentAdvice();
  readonly #reported = new Map<Finding, number>();

  constructor(private readonly config: RunConfig, totalSteps: number) {
    this.#recent = new RecentSteps(totalSteps);
  }

  /**
   * Takes the metrics of a step (TRL's names), and returns new advice. `TAGGED` among them is the
   * share of completions with an answer in tags, where no reward measures the format.
   */
  observe(step: number, metrics: Readonly<Metrics>): Advice[] {
    const recent = this.#recent;
    recent.add(metrics);
    const { reward, frac_reward_zero_std: without } = metrics;
    if (isNumber(reward) && isNumber(without) && 1 - without >= SOME_WITH_SIGNAL) {
      if (this.#best === null || reward > this.#best.reward) this.#best = { step, reward };
    }
    const early = recent.length < recent.maxLength;
    if (early && (recent.length < MIN_CERTAIN_STEPS || !this.#isHopeless())) return [];
    return this.#consistent.filter(step, this.#findings()).filter(({ finding }) => {
      const before = this.#reported.get(finding);
      if (before !== undefined && step - before < SILENT_WINDOWS * recent.maxLength) return false;
      this.#reported.set(finding, step);
      return true;
    });
  }

  #findings(): Advice[] {
    // Everything else that was observed follows from one of these.
    const alone = this.#unscored() ?? this.#empty() ?? this.#collapsed();
    if (alone !== null) return [alone];
    const always = [this.#gradient(), this.#truncated(), this.#kl(), this.#clipped()]
      .filter((advice) => advice !== null);
    if (always.length > 0 || this.#recent.rises("reward")) return always;
    // A cause is reported instead of its consequence.
    const entropy = this.#entropy(), signal = this.#format() ?? this.#signal();
    const follows = entropy !== null && signal?.finding === "no_signal";
    return [this.#warmUp(), follows ? null : signal, entropy].filter((advice) => advice !== null);
  }

  /** In every step no completion ended, or all of all groups got the same reward. */
  #isHopeless(): boolean {
    if (this.#unscored() !== null || this.#empty() !== null) return true;
    const isConstant = new Set(this.#recent.values("reward")).size === 1;
    return this.#recent.isAlwaysOne("completions/clipped_ratio") ||
      (isConstant && this.#recent.isAlwaysOne("frac_reward_zero_std"));
  }

  #unscored(): Advice | null {
    const { window } = this.#recent, isScored = this.config.rewards.length > 0;
    if (!isScored || !window.every((metrics) => metrics.reward === null)) return null;
    const text = `No reward applied to any completion in ${lastSteps(window.length)}, so nothing ` +
      "was learned: all rewards returned null. At least one must return a number.";
    return { finding: "no_reward", text, tries: [] };
  }

  /** Every completion ended with its first token. */
  #empty(): Advice | null {
    const longest = this.#recent.values("completions/max_length");
    if (longest.length < this.#recent.length || longest.some((length) => length > 1)) return null;
    const { data, training, model } = this.config;
    if (training.max_completion_length <= 1) return null;
    const text = `All completions of ${lastSteps(this.#recent.length)} are empty or a single ` +
      "token: the model ends at once. Either prompts end where an answer ends (the chat template " +
      "or the end token is not the model's), or it has learned to say nothing.";
    const tries = [
      ...otherTemplates({ model, data }),
      "training.min_new_tokens=2",
      ...(this.#hasWarmStart() ? [] : [this.#tryWarmStart()]),
    ];
    return { finding: "empty", text, tries };
  }

  #gradient(): Advice | null {
    const { window } = this.#recent, { learning_rate: rate } = this.config.training;
    const skipped =
      window.filter((metrics) => "grad_norm" in metrics && !isNumber(metrics.grad_norm)).length;
    if (skipped === 0 || skipped < MANY_SKIPPED * window.length) return null;
    const text = `The gradient was not finite in ${skipped} of ${lastSteps(window.length)}, and ` +
      "these steps were left out: the weights have diverged.";
    const tries = [`training.learning_rate=${short(rate / 10)}`, "training.max_grad_norm=0.2"];
    return { finding: "gradient", text, tries };
  }

  /** Groups had a signal before; now the reward is lower and no group has one. */
  #collapsed(): Advice | null {
    const best = this.#best, rewards = this.#recent.values("reward");
    if (best === null || !this.#withoutSignal() || !(Math.max(...rewards) < best.reward)) {
      return null;
    }
    const { learning_rate: rate, max_grad_norm: norm, beta } = this.config.training;
    const now = short(mean(rewards)), share = percent(this.#recent.mean("frac_reward_zero_std"));
    const text = `The reward fell from ${short(best.reward)} (step ${best.step}) to ${now}, and ` +
      `${share} of the groups have no signal any more: the updates were too large, and the ` +
      "policy is lost. Go back to a checkpoint from before.";
    const tries = [
      `training.learning_rate=${short(rate / 10)}`,
      ...(norm === 0 || norm > 0.2 ? ["training.max_grad_norm=0.2"] : []),
      ...(beta === 0 ? ["training.beta=0.04"] : []),
    ];
    return { finding: "collapsed", text, tries };
  }

  #truncated(): Advice | null {
    const share = this.#recent.mean("completions/clipped_ratio");
    if (!(share >= MANY_TRUNCATED)) return null;
    const { training: { max_completion_length: whole }, multi_turn, data } = this.config;
    const turn = multi_turn.max_turn_tokens ?? whole;
    const limit = Math.min(turn, whole);
    const key = turn < whole ? "multi_turn.max_turn_tokens" : "training.max_completion_length";
    const text = `${percent(share)} of the completions were cut off at ${key.split(".")[1]} ` +
      `(${limit} tokens) before they could end, so most answers were never given.`;
    const tries = [
      `${key}=${2 * limit}`,
      ...(this.#hasWarmStart() ? [] : [this.#tryWarmStart()]),
      ...(data.system_prompt === null ? ["data.system_prompt=chain_of_draft"] : []),
    ];
    return { finding: "truncated", text, tries };
  }

  #hasWarmStart(): boolean {
    return (this.config.sft?.max_steps ?? 0) > 0;
  }

  /** An adapter needs a higher learning rate than full fine-tuning. */
  #tryWarmStart(): string {
    if (this.#hasWarmStart()) return `sft.max_steps=${2 * this.config.sft!.max_steps}`;
    const rate = this.config.lora === null ? "" : " sft.learning_rate=2e-4";
    return `sft.max_steps=20 sft.per_device_train_batch_size=16${rate}`;
  }

  #kl(): Advice | null {
    const values = this.#recent.allValues("kl");
    const { beta, learning_rate: rate } = this.config.training;
    if (beta === 0 || values.length === 0) return null;
    const now = values.at(-1)!, first = values.find((value) => value > 0) ?? now;
    if (now < LARGE_KL || now < KL_GROWTH * first) return null;
    const text = `The KL divergence from the reference grew from ${short(first)} to ` +
      `${short(now)} in ${values.length} steps: the policy runs away from the model that it ` +
      "started from.";
    const tries = [
      `training.learning_rate=${short(rate / 3)}`,
      `training.beta=${short(3 * beta)}`,
      "training.max_grad_norm=0.2",
    ];
    return { finding: "kl", text, tries };
  }

  #clipped(): Advice | null {
    const share = this.#recent.mean("clip_ratio/region_mean");
    if (!(share >= MUCH_CLIPPED)) return null;
    const { learning_rate: rate, num_iterations: iterations } = this.config.training;
    const text =
      `${percent(share)} of the tokens' updates were clipped: the policy moves further ` +
      "between two generations than epsilon allows, and most of the work is thrown away.";
    const tries = [
      `training.learning_rate=${short(rate / 2)}`,
      ...(iterations > 1 ? [`training.num_iterations=${Math.ceil(iterations / 2)}`] : []),
    ];
    return { finding: "clipped", text, tries };
  }

  #warmUp(): Advice | null {
    const rates = this.#recent.values("learning_rate"), now = rates.at(-1) ?? NaN;
    const { learning_rate: full, warmup_steps: warmUp } = this.config.training;
    const rising = rates.length > 1 && rates.every((rate, i) => i === 0 || rate > rates[i - 1]!);
    if (!(warmUp > 0) || !rising || !(now < 0.5 * full)) return null;
    const text = `The learning rate is still in warm-up (${short(now)} of ${short(full)}): that ` +
      "the reward stands still means little yet.";
    const half = warmUp < 1 ? short(warmUp / 2) : Math.ceil(warmUp / 2);
    return { finding: "warm_up", text, tries: [`training.warmup_steps=${half}`] };
  }

  #format(): Advice | null {
    const names = Object.keys(this.#recent.latest).filter((name) => FORMAT_METRICS.has(name));
    const never = names.find((name) => this.#recent.values(name).every((value) => value === 0));
    if (names.length === 0) return this.#noTags();
    if (never === undefined) return null;
    const { add_instructions: instructed, system_prompt: system } = this.config.data;
    const seen = `No completion of ${lastSteps(this.#recent.length)} had the answer format ` +
      `(${never.split("/")[1]} is 0)`;
    const why = this.#withoutSignal()
      ? ", and all completions of a prompt got the same reward: there is nothing to prefer, so " +
        "nothing is learned. " +
        (this.#hasWarmStart()
          ? "The warm start was too short."
          : "The model has to be shown the format first, by a warm start on worked answers.")
      : ": the model does not do by chance what the reward asks for.";
    const tries = [
      this.#tryWarmStart(),
      ...(instructed || system !== null ? [] : ["data.add_instructions=true"]),
      ...(system === null ? ["data.system_prompt=default"] : []),
    ];
    return { finding: "format", text: seen + why, tries };
  }

  /** No answer is in tags, and no reward asks for them: no answer can be right. */
  #noTags(): Advice | null {
    const tagged = this.#recent.values(TAGGED), { rewards, data } = this.config;
    if (tagged.length < this.#recent.length || tagged.some((share) => share > 0)) return null;
    if (!rewards.some(({ name }) => name === "correctness")) return null;
    const others = rewards.map(({ name, weight, params }) => {
      const values = Object.entries(params)
        .map(([key, value]) => `, ${key}: ${JSON.stringify(value)}`);
      return `{name: ${name}, weight: ${weight}${values.join("")}}`;
    });
    const format = "{name: format_answer, weight: 0.2}";
    const text = `No completion of ${lastSteps(this.#recent.length)} had an answer in <answer> ` +
      "tags, so none could be right, and no reward says that the tags are wanted.";
    const tries = [
      rewards.every(({ file }) => file === undefined)
        ? `rewards='[${[...others, format].join(", ")}]'`
        : `${format} among the rewards`,
      ...(data.add_instructions ? [] : ["data.add_instructions=true"]),
      this.#tryWarmStart(),
    ];
    return { finding: "format", text, tries };
  }

  #withoutSignal(): boolean {
    return this.#recent.mean("frac_reward_zero_std") >= MANY_WITHOUT_SIGNAL;
  }

  #signal(): Advice | null {
    if (!this.#withoutSignal()) return null;
    const share = this.#recent.mean("frac_reward_zero_std"), { training, data } = this.config;
    const rewards = Object.keys(this.#recent.latest)
      .filter((name) => /^rewards\/.+\/mean$/.test(name))
      .map((name) => ({
        name: name.split("/").slice(1, -1).join("/"),
        value: this.#recent.mean(name),
      }));
    const seen = rewards.map(({ name, value }) => `${name} ${short(value)}`).join(", ");
    const same =
      `${percent(share)} of the groups had no signal in ${lastSteps(this.#recent.length)}: all ` +
      `completions of a prompt got the same reward (means: ${seen}).`;
    const correct = rewards.find(({ name }) => /correctness|accuracy/.test(name)) ??
      (rewards.length === 1 ? rewards[0] : undefined);
    // The problems of a data set cannot be made harder or easier.
    const task = data.task_name !== null && hasTask(data.task_name)
      ? getTask(data.task_name)
      : null;
    const curriculum = task?.curriculum !== undefined && this.config.curriculum === null
      ? ["curriculum.enabled=true"]
      : [];
    const problems = (kind: string) => task === null ? [] : [`data.task_config={…}${kind}`];
    if (correct !== undefined && correct.value >= SOLVED * (FULL_MARKS[correct.name] ?? 1)) {
      const what = task === null && data.tasks === null
        ? "more or harder ones would teach more. If the held-out accuracy is low, they are " +
          "memorised: then stop earlier, or have more problems."
        : "harder ones would teach more.";
      const text = `${same} The problems are solved: ${what}`;
      return { finding: "solved", text, tries: [...curriculum, ...problems("")] };
    }
    const tries = [
      ...(!this.#hasWarmStart() || correct?.value === 0 ? [this.#tryWarmStart()] : []),
      `training.num_generations=${2 * training.num_generations}`,
      ...(training.temperature < 1 ? ["training.temperature=1"] : []),
      ...curriculum,
      ...problems(" (easier problems)"),
    ];
    return { finding: "no_signal", text: `${same} Nothing is learned from such groups.`, tries };
  }

  #entropy(): Advice | null {
    const entropy = this.#recent.mean("entropy");
    if (!(entropy < NO_ENTROPY)) return null;
    const { temperature, entropy_coef: bonus } = this.config.training;
    const text = `The policy's entropy is ${short(entropy)}: it gives the same completion nearly ` +
      "every time, so there is nothing left to compare.";
    const tries = [
      `training.temperature=${short(Math.max(1, temperature * 1.2))}`,
      ...(bonus === 0 ? ["training.entropy_coef=0.01"] : []),
      "training.learning_rate lower, from an earlier checkpoint",
    ];
    return { finding: "entropy", text, tries };
  }
}

/** Prompts of another form, where those that a run has do not fit its model. */
function otherTemplates({ model, data }: Pick<RunConfig, "model" | "data">): string[] {
  return [
    ...(model.chat_template === null ? [] : ["~model.chat_template"]),
    data.prompt_format === "chat" ? "data.prompt_format=plain" : "data.prompt_format=chat",
  ];
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** Three digits, without an exponent where that is shorter to read. */
function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function lastSteps(count: number): string {
  return count === 1 ? "the last step" : `the last ${count} steps`;
}

/** Steps in which two values of a key contradict each other. */
const CONTRADICTING_STEPS = 10;

/**
 * Keeps advice consistent: within some steps no key is advised with two values. What an earlier
 * advice said counts, since somebody may be acting on it.
 */
export class ConsistentAdvice {
  /** By key: the value that was advised, and the step. */
  readonly #advised = new Map<string, { value: string; step: number }>();

  /** The advice without what contradicts earlier advice; none where nothing to try remains. */
  filter(step: number, advice: readonly Advice[]): Advice[] {
    return advice.flatMap((one) => {
      const tries = one.tries.filter((text) => !this.#contradicts(step, text));
      if (tries.length === 0 && one.tries.length > 0) return [];
      for (const [key, value] of tries.flatMap(settingsOf)) {
        this.#advised.set(key, { value, step });
      }
      return [{ ...one, tries }];
    });
  }

  #contradicts(step: number, text: string): boolean {
    return settingsOf(text).some(([key, value]) => {
      const before = this.#advised.get(key);
      return before !== undefined && before.value !== value &&
        step - before.step < CONTRADICTING_STEPS;
    });
  }
}

/** The keys of a text such as "sft.max_steps=20 sft.learning_rate=1e-4", and their values. */
function settingsOf(text: string): [key: string, value: string][] {
  return [...text.matchAll(/([a-z_]+(?:\.[a-z_0-9]+)+)(?:=| )(.*?)(?= [a-z_]+\.[a-z_]|$)/g)]
    .map(([, key, value]) => [key!, value!.trim()]);
}

/** Min and max length of the window, in steps; within these bounds it is a fifth of the run. */
const MIN_STEPS = 5, MAX_STEPS = 30;

/** The latest steps, in a window of up to `maxLength` steps; twice as many are kept. */
class RecentSteps {
  /** Length of a full window. A run that is shorter than `MIN_STEPS` is one window. */
  readonly maxLength: number;
  readonly #steps: Metrics[] = [];

  constructor(totalSteps: number) {
    const share = Math.max(MIN_STEPS, Math.round(totalSteps / 5));
    this.maxLength = Math.min(MAX_STEPS, share, totalSteps);
  }

  add(metrics: Readonly<Metrics>): void {
    this.#steps.push({ ...metrics });
    if (this.#steps.length > 2 * this.maxLength) this.#steps.shift();
  }

  get length(): number {
    return Math.min(this.maxLength, this.#steps.length);
  }

  get window(): readonly Metrics[] {
    return this.#steps.slice(-this.length);
  }

  get latest(): Metrics {
    return this.#steps.at(-1)!;
  }

  /** Values of a metric in the window; steps without it are left out. */
  values(name: string): number[] {
    return this.window.map((metrics) => metrics[name]).filter(isNumber);
  }

  allValues(name: string): number[] {
    return this.#steps.map((metrics) => metrics[name]).filter(isNumber);
  }

  mean(name: string): number {
    return mean(this.values(name));
  }

  isAlwaysOne(name: string): boolean {
    const values = this.values(name);
    return values.length === this.length && values.every((value) => value === 1);
  }

  /** The mean of the later half is above that of the earlier half by more than chance. */
  rises(name: string): boolean {
    const values = this.allValues(name);
    const half = values.length >> 1, early = values.slice(0, half), late = values.slice(half);
    if (half === 0) return false;
    const error = (part: readonly number[]) => sampleStd(part) ** 2 / part.length;
    const noise = Math.sqrt(error(early) + error(late));
    return mean(late) - mean(early) > 2 * noise;
  }
}

export function isNumber(value: number | null | undefined): value is number {
  return Number.isFinite(value);
}

const STEPS = 3;

/**
 * Looks at the loss of the supervised steps. A model that is worse than guessing gets texts that it
 * does not know: the tokenizer or the chat template is not its own, or it has just been destroyed.
 */
export class SupervisedDiagnosis {
  readonly #losses: number[] = [];
  #isReported = false;

  /** @param vocabSize guessing among so many tokens has a loss of its logarithm */
  constructor(
    private readonly config: RunConfig,
    private readonly vocabSize: number,
    private readonly totalSteps: number,
  ) {}

  observe(step: number, loss: number): Advice[] {
    if (!Number.isFinite(loss)) return [];
    this.#losses.push(loss);
    const { init } = this.config.model, isEnd = step === this.totalSteps;
    // A model from a seed begins by guessing, so only its end counts.
    if (this.#isReported || this.#losses.length < STEPS || init !== null && !isEnd) return [];
    const now = mean(this.#losses.slice(-STEPS)), guessing = Math.log(this.vocabSize);
    if (!(now > guessing)) return [];
    this.#isReported = true;
    const seen =
      `The supervised loss is ${now.toFixed(2)}, above ${guessing.toFixed(2)}, that of ` +
      `guessing one of ${this.vocabSize} tokens`;
    const { sft } = this.config, lower = `sft.learning_rate=${short(sft!.learning_rate / 10)}`;
    if (init !== null || this.#losses[0]! < guessing) {
      const text = `${seen}: the steps were too large, and what the model knew is lost.`;
      return [{ finding: "supervised", text, tries: [lower] }];
    }
    const { model } = this.config;
    return [{
      finding: "supervised",
      text: `${seen}: the model does not know texts of this form at all. The tokenizer or the ` +
        "chat template is probably another model's.",
      tries: [
        ...(model.tokenizer_name_or_path === null ? [] : ["~model.tokenizer_name_or_path"]),
        ...otherTemplates(this.config),
      ],
    }];
  }
}

/** A name for what the diagnosis says about a run. */
export type Finding =
  | "no_reward"
  | "empty"
  | "supervised"
  | "collapsed"
  | "no_signal"
  | "solved"
  | "truncated"
  | "format"
  | "clipped"
  | "kl"
  | "entropy"
  | "warm_up"
  | "gradient";

/** Why a run does not get better, and what to try. */
export interface Advice {
  /** What was found, for programs. */
  finding: Finding;
  /** One or two sentences: what was observed, and what it means. */
  text: string;
  /** `key=value` to try, the most promising first. */
  tries: string[];
}

/** An advice as one text. */
export function adviceText({ text, tries }: Advice): string {
  return tries.length === 0 ? text : `${text} Try: ${tries.join(", ")}`;
}
