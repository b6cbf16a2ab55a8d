/** Counters, gauges and histograms, and their text in the format of Prometheus. */

/** Upper bounds of the buckets in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

class Histogram {
  readonly #counts = new Array<number>(BUCKETS.length + 1).fill(0);
  #sum = 0;

  observe(value: number): void {
    const bucket = BUCKETS.findIndex((bound) => value <= bound);
    this.#counts[bucket < 0 ? BUCKETS.length : bucket]!++;
    this.#sum += value;
  }

  lines(name: string): string[] {
    let below = 0;
    const lines = this.#counts.map((count, i) => {
      below += count;
      return `${name}_bucket{le="${BUCKETS[i] ?? "+Inf"}"} ${below}`;
    });
    return [...lines, `${name}_sum ${this.#sum}`, `${name}_count ${below}`];
  }
}

export class Metrics {
  promptTokens = 0;
  generatedTokens = 0;
  /** Time that a prompt waits until it begins. */
  readonly queueSeconds = new Histogram();
  /** Time from the begin of a prompt to its first token, and from token to token. */
  readonly firstTokenSeconds = new Histogram();
  readonly tokenSeconds = new Histogram();
  readonly requestSeconds = new Histogram();
  readonly #requests = new Map<string, number>();
  clientsGone = 0;

  /** Counts a request that has ended. @param route the path without values */
  ended(route: string, status: number, seconds: number): void {
    const labels = `path="${route}",status="${status}"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
    this.requestSeconds.observe(seconds);
  }

  /** @param gauges present values by name, with their meaning */
  text(gauges: Readonly<Record<string, readonly [help: string, value: number]>>): string {
    const lines: string[] = [];
    const family = (name: string, kind: string, help: string, values: readonly string[]) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...values);
    const counter = (name: string, help: string, value: number) =>
      family(name, "counter", help, [`${name} ${value}`]);
    const requests = [...this.#requests].map(([labels, n]) => `rgx_requests_total{${labels}} ${n}`);
    family("rgx_requests_total", "counter", "Requests that have ended.", requests);
    counter("rgx_prompt_tokens_total", "Tokens of prompts.", this.promptTokens);
    counter("rgx_generated_tokens_total", "Tokens generated.", this.generatedTokens);
    counter("rgx_clients_gone_total", "Requests whose client left.", this.clientsGone);
    for (const [name, [help, value]] of Object.entries(gauges)) {
      family(name, name.endsWith("_total") ? "counter" : "gauge", help, [`${name} ${value}`]);
    }
    const histogram = (name: string, help: string, values: Histogram) =>
      family(name, "histogram", help, values.lines(name));
    histogram("rgx_queue_seconds", "Wait of a prompt for its begin.", this.queueSeconds);
    histogram("rgx_first_token_seconds", "Begin to first token.", this.firstTokenSeconds);
    histogram("rgx_token_seconds", "Token to token.", this.tokenSeconds);
    histogram("rgx_request_seconds", "Whole requests.", this.requestSeconds);
    return lines.join("\n") + "\n";
  }
}
