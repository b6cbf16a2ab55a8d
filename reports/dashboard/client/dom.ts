/**
 * Parts that several views have. Views are templates of lit-html, which sets texts as text: no text
 * of a model becomes HTML.
 */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Overview } from "../data_routes.ts";
import type { Changes } from "../runs.ts";

/** A part of a page; `nothing` where there is none. */
export type Part = TemplateResult | typeof nothing;

/** The value that the user wrote into a field, or chose in a list. */
export function valueOf(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}

/** The parameters of these names in the address; "" for one that is not there. */
export function given<Name extends string>(
  parameters: URLSearchParams,
  names: readonly Name[],
): Record<Name, string> {
  const pairs = names.map((name) => [name, parameters.get(name) ?? ""] as const);
  return Object.fromEntries(pairs) as Record<Name, string>;
}

/** Values to choose from, with their texts where these differ. */
type Options = readonly (string | readonly [value: string, text: string])[];

/** A list to choose from, below its label. */
export function choice(
  label: string,
  options: Options,
  chosen: string,
  change: (value: string) => void,
): Part {
  const items = options.map((one) => {
    const [value, text] = typeof one === "string" ? [one, one] : one;
    return html`<option value=${value} ?selected=${value === chosen}>${text}</option>`;
  });
  return html`<label>${label}<select @change=${(event: Event) => change(valueOf(event))}>
    ${items}
  </select></label>`;
}

/** Fields of a view whose values are kept in the address. */
export class Fields<Name extends string> {
  readonly values: Record<Name, string>;

  /** @param changed called after each change */
  constructor(
    private readonly state: PageState,
    names: readonly Name[],
    private readonly changed: () => void,
  ) {
    this.values = given(state.parameters, names);
  }

  set(name: Name, value: string): void {
    this.values[name] = value;
    this.state.remember(this.values);
    this.changed();
  }

  /** A list to choose from. */
  choice(name: Name, label: string, options: Options): Part {
    return choice(label, options, this.values[name], (value) => this.set(name, value));
  }

  /** A field for a text or a number. */
  input(name: Name, label: string, type: "search" | "number" = "search"): Part {
    const write = (event: Event) => this.set(name, valueOf(event));
    return html`<label class=${type}>${label}<input
      type=${type} step="any" value=${this.values[name]} @input=${write}
    ></label>`;
  }
}

/** Rows that the server sends page by page; only the newest question counts. */
export class PagedRows<Page extends { rows: unknown[]; next: string | number | null }> {
  rows: Page["rows"][number][] = [];
  #next: Page["next"] = null;
  #asked = 0;

  /**
   * @param ask asks for the page after another one; null: for the first
   * @param draw called with a page that has come, or with the reason why it has not
   */
  constructor(
    private readonly ask: (after: Page["next"]) => Promise<Page>,
    private readonly draw: (page: Page | null, problem: string) => void,
  ) {}

  async load(after: Page["next"] = null): Promise<void> {
    const mine = ++this.#asked;
    try {
      const page = await this.ask(after);
      if (mine !== this.#asked) return;
      this.rows = after === null ? page.rows : [...this.rows, ...page.rows];
      this.#next = page.next;
      this.draw(page, "");
    } catch (error) {
      this.draw(null, (error as Error).message);
    }
  }

  /** The button for the next page. */
  get more(): Part {
    if (this.#next === null) return nothing;
    return html`<p><button type="button" @click=${() => this.load(this.#next)}>More</button></p>`;
  }
}

/** What is wrong with files. */
export function problemBox(problems: readonly string[]): Part {
  if (problems.length === 0) return nothing;
  return html`
    <div class="problems" role="note">
      <ul>
        ${problems.map((problem) => html`<li>${problem}</li>`)}
      </ul>
    </div>
  `;
}

/** The message that takes the place of contents after an error. */
export function failureBox(error: unknown): Part {
  return problemBox([(error as Error).message]);
}

/** A table. @param texts number of its first columns that are texts; all others hold numbers */
export function table(
  name: string,
  heads: readonly string[],
  rows: readonly (readonly (Part | string)[])[],
  texts = heads.length,
): Part {
  const classOf = (column: number) => column < texts ? nothing : "number";
  return html`
    <div class="wide" role="region" aria-label=${name} tabindex="0">
      <table class="cards">
        <thead>
          <tr>
            ${heads.map((head, i) => html`<th scope="col" class=${classOf(i)}>${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) =>
            html`
              <tr>${row.map((cell, i) =>
                html`<td class=${classOf(i)} data-label=${heads[i]}>${cell}</td>`
              )}</tr>
            `
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** A short text in a frame. */
export function tag(text: string): Part {
  return html`
    <span class="tag">${text}</span>
  `;
}

/** The text with the places marked that contain `part`, in any case. */
export function marked(text: string, part: string): (Part | string)[] {
  if (part === "") return [text];
  const pieces: (Part | string)[] = [], wanted = part.toLowerCase(), lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    pieces.push(text.slice(from, at), html`<mark>${text.slice(at, at + part.length)}</mark>`);
    from = at + part.length;
  }
  return [...pieces, text.slice(from)];
}

/** Length of names that are short enough for one line, in characters. */
const ONE_LINE = 16;

/** A name that may be broken after the signs that separate its parts, and nowhere else. */
export function breakable(name: string): (Part | string)[] {
  if (name.length <= ONE_LINE) return [name];
  return name.split(/(?<=[/_.-])/).flatMap((part, i) => i === 0 ? [part] : [html`<wbr>`, part]);
}

/** Names with their values, in a row of columns. */
export function facts(pairs: readonly (readonly [name: string, value: string | Part])[]): Part {
  return html`
    <dl class="facts">
      ${pairs.map(([name, value]) =>
        html`
          <div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>
        `
      )}
    </dl>
  `;
}

/** A part of a page that is folded at first. */
export function folded(title: string, content: Part): Part {
  return html`<details class="fold"><summary><h2>${title}</h2></summary>${content}</details>`;
}

/** Lets the browser keep a file that the page has made. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A share with its 95 % interval, drawn on the scale from 0 to 100 %. */
export function intervalBar(
  { accuracy, ci95: [low, high] }: { accuracy: number; ci95: readonly [number, number] },
  kind: string,
): Part {
  const at = (share: number) => 100 * share;
  return html`
    <svg class=${`interval ${kind}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" x="0" y="3.5" width="100" height="3"></rect>
      <rect class="range" x=${at(low)} y="2" width=${Math.max(
        0.5,
        at(high - low),
      )} height="6"></rect>
      <rect class="point" x=${Math.min(99, at(accuracy))} y="0" width="1" height="10"></rect>
    </svg>
  `;
}

/** Calls `work` when nothing was typed for a moment. */
export function debounced(work: () => void, ms = 250): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms) as unknown as number;
  };
}

/** A view on the page. */
export interface View {
  title: string;
  content: Part | HTMLElement;
  /** Called when files have changed. */
  changed?(changes: Changes): void;
  /** Called when the theme or the width of the window has changed. */
  redraw?(): void;
  leave?(): void;
}

/** The page as views see it: the list of runs, and the parameters in the address. */
export interface PageState {
  overview: Overview;
  parameters: URLSearchParams;
  /** Changes parameters in the address, without drawing the view again; "" removes one. */
  remember(parameters: Readonly<Record<string, string>>): void;
}

// What is asked of the server, with the token of the page's address, and its events.

const token = new URLSearchParams(location.search).get("token") ?? "";

/** A problem that the server reports, to be shown as it is. */
export class Problem extends Error {}

/**
 * @param body what the server is to do; without it, the question only reads
 * @throws Problem when the server refuses or is gone
 */
export async function ask<T>(
  what: string,
  parameters: Readonly<Record<string, string | number | null>> = {},
  body?: unknown,
): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== "") query.set(name, String(value));
  }
  let response: Response;
  try {
    response = await fetch(`api/${what}?${query}`, {
      headers: token === "" ? {} : { authorization: `Bearer ${token}` },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
  } catch {
    throw new Problem("The dashboard does not answer; it may have been ended.");
  }
  if (response.ok) return await response.json();
  const answer = await response.text();
  let text = answer;
  try {
    text = JSON.parse(answer).problem ?? answer;
  } catch {
    // not JSON: shown as it is
  }
  throw new Problem(text);
}

/** Calls `take` for every change; the connection is made again when it breaks. */
export function listen(
  take: (changes: Changes) => void,
  connected: (isConnected: boolean) => void,
): void {
  const source = new EventSource(`api/events?${new URLSearchParams({ token })}`);
  source.addEventListener("hello", () => connected(true));
  source.addEventListener("alive", () => connected(true));
  source.addEventListener("changes", (event) => {
    connected(true);
    take(JSON.parse((event as MessageEvent<string>).data));
  });
  source.onerror = () => connected(false);
}
