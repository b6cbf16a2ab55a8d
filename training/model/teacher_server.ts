/**
 * A teacher behind an OpenAI-compatible server (`teacher.base_url`): `rgx serve`, or vLLM. It is
 * sent the tokens of the student's samples and answers with their log-probabilities and those of
 * the likeliest tokens (`prompt_logprobs`). A server that is down is asked again until the limit;
 * one that refuses, has other tokens, or gives no log-probabilities ends the run.
 */
import type { TeacherSection } from "../../configs/schema/run_config.ts";
import { Interrupted, RgxError, UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { ServerAddress } from "../../core/remote/address.ts";
import { HttpClient, IdleTimeout, reasonOf } from "../../core/remote/http.ts";
import { BadReply, excerpt, HttpError, isTemporary } from "../../core/remote/refusal.ts";
import { modelIds } from "../../core/remote/reply.ts";
import { retrying, stoppable } from "../../core/remote/retry.ts";
import type { Group } from "../../models/network/types.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { TeacherPlace } from "../loss/top_divergence.ts";

export function otherTeacher(key: string, why: string): UsageError {
  return new UsageError(`${key}: ${why}`, {
    advice: "A teacher says how likely each token of the student is, so both need the same " +
      "tokens: take a model of the student's family.",
  });
}

const AT_ONCE = 8;
/** Milliseconds before a server that is down is asked again, doubled up to the longest. */
const FIRST_DELAY_MS = 250, LONGEST_DELAY_MS = 5000;
/** A text that tokenizers split in different ways. */
const PROBE = "The answer is 12345 × 6.78 = ?\n\n  def f(x): # naïve, 漢字 <answer>Yes</answer>";

const TOKENIZE = "/../tokenize";

const isMissing = (error: unknown) =>
  error instanceof HttpError && [404, 405].includes(error.status);

export class TeacherServer {
  readonly beta: number;
  readonly weight: number;
  readonly #address: ServerAddress;
  readonly #client = new HttpClient();
  readonly #count: number;
  #model = "";

  /** @param check throws to end the work @throws UsageError for an address that is none */
  constructor(
    private readonly section: TeacherSection,
    private readonly tokenizer: Tokenizer,
    private readonly vocabSize: number,
    private readonly check: () => void,
  ) {
    this.beta = section.beta;
    this.weight = section.weight;
    this.#address = new ServerAddress(section.base_url!, section.api_key_env ?? undefined);
    this.#count = section.beta === 1 ? 0 : section.top_k ?? 1;
  }

  async open(): Promise<void> {
    await this.#stoppable((signal) => this.#open(signal));
  }

  async #open(signal: AbortSignal): Promise<void> {
    const { model_name_or_path: wanted } = this.section, { url } = this.#address;
    const names = modelIds(await this.#send("/models", null, signal));
    if (wanted !== null && !names.includes(wanted)) {
      throw new RgxError(`teacher.model_name_or_path: ${url} has no model ${wanted}`, {
        advice: `It serves ${names.join(", ") || "none"}.`,
      });
    }
    this.#model = wanted ?? names[0] ?? "";
    const asked = { model: this.#model, prompt: PROBE, add_special_tokens: false };
    const said = await this.#send(TOKENIZE, asked, signal).catch((error) => {
      if (isMissing(error)) return {};
      throw error;
    });
    const theirs = isRecord(said) ? said["tokens"] : undefined;
    const own = this.tokenizer.encode(PROBE, { addSpecialTokens: false });
    if (!Array.isArray(theirs)) {
      throw otherTeacher(
        "teacher.base_url",
        `${url} does not say how it splits texts (/tokenize), so nothing says that its tokens ` +
          "are the student's",
      );
    }
    if (theirs.join() !== own.join()) {
      const text = JSON.stringify(PROBE.slice(0, 13));
      throw otherTeacher(
        "teacher.base_url",
        `${url} has other tokens: a text that begins with ${text} has ${theirs.length} of them ` +
          `(${theirs.slice(0, 4)} …), the student's ${own.length} (${own.slice(0, 4)} …)`,
      );
    }
    await this.#places(own, 1, signal);
  }

  /** @throws RgxError when the server refuses, or does not answer within the limit */
  ask(groups: readonly Group[]): Promise<TeacherPlace[]> {
    return this.#stoppable((signal) => this.#ask(groups, signal));
  }

  async #ask(groups: readonly Group[], signal: AbortSignal): Promise<TeacherPlace[]> {
    const rows = groups.flatMap(({ promptIds, branches }) =>
      branches.map((branch) => ({ ids: [...promptIds, ...branch], from: promptIds.length }))
    );
    const places: TeacherPlace[][] = [];
    let next = 0;
    const lane = async () => {
      for (let i = next++; i < rows.length; i = next++) {
        const { ids, from } = rows[i]!;
        places[i] = ids.length === from ? [] : await this.#places(ids, from, signal);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return places.flat();
  }

  dispose(): void {
    this.#client[Symbol.dispose]();
  }

  /** Does work whose requests end with it, also where `check` ends it. */
  async #stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const control = new AbortController();
    try {
      return await stoppable(this.check, work(control.signal));
    } finally {
      control.abort(new Interrupted());
    }
  }

  async #places(
    ids: readonly number[],
    from: number,
    signal: AbortSignal,
  ): Promise<TeacherPlace[]> {
    const asked = {
      model: this.#model,
      prompt: ids,
      max_tokens: 1,
      temperature: 1,
      prompt_logprobs: this.#count,
    };
    const json = await this.#send("/completions", asked, signal);
    const choices = isRecord(json) ? json["choices"] : null;
    const choice = Array.isArray(choices) ? choices[0] : null;
    const entries = isRecord(choice) ? choice["prompt_logprobs"] : null;
    const bad = (what: string) =>
      new RgxError(`teacher.base_url: ${this.#address.url} ${what}`, {
        advice: "A teacher needs prompt_logprobs in /v1/completions, as rgx serve and vLLM have.",
      });
    if (!Array.isArray(entries)) throw bad("gives no log-probabilities of given tokens");
    if (entries.length !== ids.length) {
      throw bad(`gives log-probabilities of ${entries.length} tokens, it was sent ${ids.length}`);
    }
    return ids.slice(from).map((own, i) => {
      const entry = entries[from + i];
      const top = Object.entries(isRecord(entry) ? entry : {}).map(([key, value]) => ({
        id: Number(key),
        logprob: isRecord(value) ? Number(value["logprob"]) : NaN,
      })).sort((a, b) => b.logprob - a.logprob);
      const wrong = top.find(({ id, logprob }) => !(id < this.vocabSize) || Number.isNaN(logprob));
      if (wrong !== undefined) {
        const text = excerpt(JSON.stringify(entry));
        throw bad(`answers with a token that the student does not have, or no number: ${text}`);
      }
      const logprob = top.find(({ id }) => id === own)?.logprob;
      if (logprob === undefined || top.length < this.#count) {
        throw bad(`does not say how likely token ${own} and the ${this.#count} likeliest are`);
      }
      return { logprob, top: top.slice(0, this.#count) };
    });
  }

  /** @param body null: GET. @throws HttpError when there is no TOKENIZE; RgxError */
  async #send(
    path: string,
    body: Record<string, unknown> | null,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { url } = this.#address, { server_timeout: seconds } = this.section;
    const begin = performance.now();
    const explained = (error: unknown) => {
      if (path === TOKENIZE && isMissing(error)) return error;
      const said = error instanceof HttpError
        ? `${error.status}: ${this.#address.hide(error.message)}` +
          (error.status === 401 ? ` (${this.#address.keyHint})` : "")
        : reasonOf(error);
      const late = isTemporary(error) ? ` does not answer for ${seconds} s` : "";
      return new RgxError(`teacher.base_url: ${url}${late}: ${said}`, {
        advice: "The run can be resumed from its last checkpoint when the server is there.",
        cause: error,
      });
    };
    return await retrying(() => this.#request(path, body, signal), {
      signal,
      checkEnd: () => signal.throwIfAborted(),
      firstDelay: FIRST_DELAY_MS,
      longestDelay: LONGEST_DELAY_MS,
      isTemporary: (error) => isTemporary(error) && performance.now() - begin < 1000 * seconds,
      askedDelay: (error) => error instanceof HttpError ? error.delay : null,
      failure: explained,
    });
  }

  async #request(
    path: string,
    body: Record<string, unknown> | null,
    outer: AbortSignal,
  ): Promise<unknown> {
    using timeout = new IdleTimeout(1000 * Math.max(1, this.section.server_timeout), outer);
    const json = await this.#address.ask(path, this.#client, timeout, body);
    if (typeof json !== "string") return json;
    throw new BadReply(`not JSON: ${excerpt(json)}`);
  }
}
