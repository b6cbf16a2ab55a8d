/**
 * Parts that several views have. Views are templates of lit-html, which sets texts as text: no text
 * of a model becomes HTML.
 */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Changes, Overview } from "../api.ts";

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

/** A list to choose from, below its label; `options` are values with their texts. */
export function choice(
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
  change: (value: string) => void,
): Part {
  const items = options.map(([value, text]) =>
    html`<option value=${value} ?selected=${value === chosen}>${text}</option>`
  );
  return html`<label>${label}<select @change=${(event: Event) => change(valueOf(event))}>
    ${items}
  </select></label>`;
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
      <table>
        <thead>
          <tr>
            ${heads.map((head, i) => html`<th scope="col" class=${classOf(i)}>${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) =>
            html`
              <tr>${row.map((cell, i) => html`<td class=${classOf(i)}>${cell}</td>`)}</tr>
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

/** A name that may be broken after the signs that separate its parts, and nowhere else. */
export function breakable(name: string): (Part | string)[] {
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
