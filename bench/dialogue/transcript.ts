/**
 * The transcript of a run's dialogues: what environments and tools were asked, and what they said,
 * one line for a call, in the order of the replies. A run that goes on from a checkpoint repeats
 * the steps after it, and takes from the transcript what depends on the clock: a call that was too
 * late stays too late, and one that was in time has no limit. Of environments outside of rgx, it
 * takes all replies. `rgx env replay` plays the dialogues of a transcript again.
 */
import { appendLine } from "../../core/atomic_file.ts";
import { jsonObjectOrNull } from "../../core/json_file.ts";
import { fnv1a } from "../../core/philox.ts";
import { linesOf } from "../../core/text_file.ts";
import type {
  Environment,
  EnvironmentCall,
  Outcome,
  Reply,
} from "../../rewards/environments/environment.ts";

/** Files of a run's transcript, one of each rank. */
export const TRANSCRIPT = /^transcript(-\d+)?\.jsonl$/;

/** Where a call stands in a run. */
export interface Place {
  /** The step, and what the dialogues are for. */
  scene: string;
  prompt: number;
  branch: number;
  /** Answers of the model before it. */
  turn: number;
  /** Number of the call of a tool in its turn. */
  number: number;
}

/** "clock": whether the dialogue has time left. */
export type Asked = EnvironmentCall | { call: "clock" };

/** A line: a call and its outcome, without states. */
export interface Exchange extends Place {
  /** The number at the beginning of the scene. */
  step: number;
  /** The name of the environment; "": the clock. */
  environment: string;
  call: Asked["call"];
  /** The row and the seed, the message, or the tool and its arguments. */
  asked: Record<string, unknown>;
  /** Of what was asked. */
  hash: string;
  /** The reply, or the error. */
  said: Omit<Reply, "state"> | { error: string; late?: boolean };
  /** Whether the same call would have the same outcome at any time. */
  steady: boolean;
  /** After a call that is not steady, if it does not follow from the calls. */
  state?: unknown;
}

/** What is known of a call: its hash, what was said, and the outcome if it is not asked again. */
interface Known {
  hash: string;
  said: Exchange["said"];
  outcome: (Exchange["said"] & { state?: unknown }) | null;
}

export class Transcript {
  readonly #known = new Map<string, Known>();
  /** Lines that wait until those before them are written, and when all of them are written. */
  #waiting: string[] = [];
  #written: Promise<unknown> = Promise.resolve();
  /** Called once, when an environment says something else than before. */
  onDifference: (message: string) => void = () => {};
  #differs = false;

  private constructor(readonly path: string) {}

  /**
   * Opens the transcript in the folder of a run, with the files of all ranks.
   * @param rank the rank of this process; each rank has a file
   */
  static async open(folder: string, rank = 0): Promise<Transcript> {
    const own = `transcript${rank === 0 ? "" : `-${rank}`}.jsonl`;
    const transcript = new Transcript(`${folder}/${own}`);
    for await (const { name } of Deno.readDir(folder)) {
      if (!TRANSCRIPT.test(name)) continue;
      const bytes = await Deno.readFile(`${folder}/${name}`);
      transcript.#read(bytes);
      // A line that was cut off when the program was killed.
      const whole = bytes.lastIndexOf(0x0a) + 1;
      if (name === own && whole < bytes.length) await Deno.truncate(transcript.path, whole);
    }
    return transcript;
  }

  #read(bytes: Uint8Array): void {
    for (const text of linesOf(bytes)) {
      // A line that was cut off has nothing.
      const line = jsonObjectOrNull(text) as Partial<Exchange> ?? {};
      if (line.hash === undefined) continue;
      const { hash, said, steady, state } = line as Exchange;
      const outcome = steady ? null : { ...said, ...(state !== undefined && { state }) };
      this.#known.set(keyOf(line as Exchange), { hash, said, outcome });
    }
  }

  /**
   * Looks for an exchange.
   * @returns its outcome, which is null where the call was in time and can be sent again; null when
   *   there was no exchange at this place, or with another call
   */
  find(
    place: Place,
    call: Asked,
    environment: Pick<Environment, "stateAfter"> | null = null,
  ): { outcome: Outcome | null } | null {
    const found = this.#known.get(keyOf({ ...place, call: call.call }));
    if (found === undefined || found.hash !== hashOf(call)) return null;
    const { outcome } = found as { outcome: Outcome | null };
    if (outcome === null || call.call === "clock" || "state" in outcome) return { outcome };
    const state = environment?.stateAfter?.(call, outcome);
    return { outcome: { ...outcome, ...(state !== undefined && { state }) } as Outcome };
  }

  /** Tells of an environment that says something else than at an earlier time. */
  compare(place: Place, call: Asked, { name }: Environment, outcome: Outcome): void {
    const said = this.#known.get(keyOf({ ...place, call: call.call }))?.said ?? null;
    const difference = said === null ? null : differenceOf(said, outcome);
    if (difference === null || this.#differs) return;
    this.#differs = true;
    this.onDifference(
      `the environment ${name} answers differently than before the run was resumed: ` +
        `${placeText(place)}: ${difference}; the run is not the same as without the break`,
    );
  }

  /** @throws RgxError when the disk is full */
  async add(
    place: Place,
    call: Asked,
    outcome: Outcome,
    environment: Environment | null = null,
    isSteady: boolean = environment?.isSteady === true && !("error" in outcome),
  ): Promise<void> {
    const { state, ...said } = outcome as Reply, { call: kind, ...about } = call;
    const { state: _, ...asked } = about as Record<string, unknown>;
    const keeps = !isSteady && state !== undefined && environment?.stateAfter === undefined;
    const line: Exchange = {
      step: Number.parseInt(place.scene) || 0,
      ...place,
      environment: environment?.name ?? "",
      call: kind,
      asked,
      hash: hashOf(call),
      said,
      steady: isSteady,
      ...(keeps && { state }),
    };
    this.#waiting.push(JSON.stringify(line));
    if (this.#waiting.length === 1) {
      this.#written = this.#written.catch(() => {})
        .then(() => appendLine(this.path, this.#waiting.splice(0).join("\n")));
    }
    await this.#written;
  }
}

/** The exchanges of a transcript's lines. */
export function exchangesOf(bytes: Uint8Array): Exchange[] {
  return [...linesOf(bytes)].flatMap((text): Exchange[] => {
    const line = jsonObjectOrNull(text);
    return line?.["said"] === undefined ? [] : [line as unknown as Exchange];
  });
}

/** What a reply or an error may have. */
type Said = Partial<Reply & { error: string }>;

/** How an outcome differs from one before, in words; null: it does not. */
export function differenceOf(before: Exchange["said"], outcome: Outcome): string | null {
  const then: Said = before, now: Said = outcome;
  for (const name of ["error", "content", "reward", "done", "metrics"] as const) {
    const was = JSON.stringify(then[name]), is = JSON.stringify(now[name]);
    if (was !== is) return `${name} was ${short(was)} and is ${short(is)} now`;
  }
  return null;
}

function short(text = "nothing"): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** A place in words. */
export function placeText({ scene, prompt, branch, turn, number }: Place): string {
  const call = number === 0 ? "" : `, call ${number + 1}`;
  return `step ${scene}, prompt ${prompt}, branch ${branch}, turn ${turn}${call}`;
}

/** A place and a call as one text. */
export function keyOf({ scene, prompt, branch, turn, call, number }: Place & Pick<Asked, "call">) {
  return `${scene} ${prompt}/${branch}/${turn}/${call}${number === 0 ? "" : number}`;
}

/** The state is left out: it follows from the calls before. */
function hashOf(call: Asked): string {
  return fnv1a(JSON.stringify({ ...call, state: undefined, row: undefined })).toString(36);
}
