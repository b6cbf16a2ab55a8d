/** Builds elements. Texts are always set as text, so that no text of a model becomes HTML. */
import type { Changes, Overview } from "../api.ts";

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | ((event: Event) => void)>;

/** An element with attributes (`onclick` and the like are listeners) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  add(element, children);
  return element;
}

/** An element of a drawing. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement;
  set(element, attributes);
  add(element, children);
  return element;
}

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function add(element: Element, children: readonly (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** A field of a form below its label. */
export function field(label: string, input: HTMLElement): HTMLElement {
  return h("label", {}, label, input);
}

/** A list to choose from; `options` are values with their texts. */
export function choice(
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
  onchange: (value: string) => void,
): HTMLSelectElement {
  const select = h(
    "select",
    { onchange: () => onchange(select.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return select;
}

/** What is wrong with files, or null when nothing is. */
export function problemBox(problems: readonly string[]): HTMLElement | null {
  if (problems.length === 0) return null;
  return h(
    "div",
    { class: "problems", role: "note" },
    h("ul", {}, problems.map((problem) => h("li", {}, problem))),
  );
}

/** The text with the places marked that contain `part`, in any case. */
export function marked(text: string, part: string): Node[] {
  if (part === "") return [document.createTextNode(text)];
  const nodes: Node[] = [], wanted = part.toLowerCase(), lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    nodes.push(document.createTextNode(text.slice(from, at)));
    nodes.push(h("mark", {}, text.slice(at, at + part.length)));
    from = at + part.length;
  }
  nodes.push(document.createTextNode(text.slice(from)));
  return nodes;
}

/** Calls `work` when nothing was typed for a moment. */
export function debounced(work: () => void, ms = 250): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms) as unknown as number;
  };
}

// What the page and its views know of each other. Only types.

/** A view on the page. */
export interface View {
  title: string;
  element: HTMLElement;
  /** Called when files have changed. */
  changed?(changes: Changes): void;
  /** Called when the theme or the width of the window has changed. */
  redraw?(): void;
  leave?(): void;
}

/** What views know about the page: the list, and the parameters in the address. */
export interface PageState {
  overview: Overview;
  parameters: URLSearchParams;
  /** Changes parameters in the address, without drawing the view again; "" removes one. */
  remember(parameters: Readonly<Record<string, string>>): void;
}
