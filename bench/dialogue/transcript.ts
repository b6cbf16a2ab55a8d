/**
 * The transcript of a run's dialogues: what environments and tools were asked, one line for a call,
 * in the order of the replies. A run that goes on from a checkpoint repeats the steps after it, and
 * takes from the transcript what depends on the clock: a call that was too late stays too late, and
 * one that was in time has no limit. Of environments that reach hosts, it takes all replies.
 */
import { appendLine } from "../../core/atomic_file.ts";
import { jsonObjectOrNull } from "../../core/json_file.ts";
import { fnv1a } from "../../core/philox.ts";
import { linesOf } from "../../core/text_file.ts";
import type { EnvironmentCall, Outcome } from "../../rewards/environments/environment.ts";

/** Files of a run's transcript, one of each rank. */
export const TRANSCRIPT = /^transcript(-\d+)?\.jsonl$/;

/** A call and its outcome. */
export interface Exchange {
  /** Its place in the run: prompt, branch, turn, and call of the turn. */
  at: string;
  /** "clock": whether the dialogue has time left. */
  call: EnvironmentCall | { call: "clock" };
  outcome: Outcome;
  /** Whether the same call would have the same outcome at any time. */
  isSteady: boolean;
}

/** A line: exchanges of a scene. */
interface Line {
  /** The step, and what the dialogues are for. */
  scene: string;
  /** By their places: a hash of the call, and the outcome where it may change. */
  exchanges: Record<string, [hash: string, outcome?: Outcome]>;
}

export class Transcript {
  readonly #known = new Map<string, Line["exchanges"][string]>();
  /** The last line on its way to the disk. */
  #writing: Promise<unknown> = Promise.resolve();

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
      // A line that was cut off has no exchanges.
      const { scene, exchanges = {} }: Partial<Line> = jsonObjectOrNull(text) ?? {};
      for (const [at, exchange] of Object.entries(exchanges)) {
        this.#known.set(`${scene} ${at}`, exchange);
      }
    }
  }

  /**
   * Looks for an exchange.
   * @returns its outcome, which is null where the call was in time and can be sent again; null when
   *   there was no exchange at this place, or with another call
   */
  find(
    scene: string,
    at: string,
    call: Exchange["call"],
  ): { outcome: Outcome | null } | null {
    const found = this.#known.get(`${scene} ${at}`);
    return found === undefined || found[0] !== hashOf(call) ? null : { outcome: found[1] ?? null };
  }

  /** @throws RgxError when the disk is full */
  async add(scene: string, exchanges: readonly Exchange[]): Promise<void> {
    if (exchanges.length === 0) return;
    const line: Line = {
      scene,
      exchanges: Object.fromEntries(exchanges.map(({ at, call, outcome, isSteady }) => {
        const hash = hashOf(call);
        return [at, isSteady ? [hash] : [hash, outcome]];
      })),
    };
    const written = this.#writing.then(() => appendLine(this.path, JSON.stringify(line)));
    this.#writing = written.catch(() => {});
    await written;
  }
}

/** The state is left out: it follows from the calls before. */
function hashOf(call: Exchange["call"]): string {
  return fnv1a(JSON.stringify({ ...call, state: undefined, row: undefined })).toString(36);
}
