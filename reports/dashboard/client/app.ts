/** The page: chooses the view by the address, passes on changes of files, and sets the theme. */
import type { Overview } from "../api.ts";
import { benchmarksView } from "./benchmarks_view.ts";
import { compareView } from "./compare_view.ts";
import { completionsView } from "./completions_view.ts";
import { curvesView } from "./curves_view.ts";
import { h, type PageState, problemBox, type View } from "./dom.ts";
import { runView } from "./run_view.ts";
import { runsView } from "./runs_view.ts";
import { ask, listen } from "./server.ts";

const VIEWS: readonly (readonly [
  path: string,
  name: string,
  make: (state: PageState) => Promise<View> | View,
])[] = [
  ["runs", "Runs", runsView],
  ["curves", "Curves", curvesView],
  ["completions", "Completions", completionsView],
  ["compare", "Configurations", compareView],
  ["benchmarks", "Benchmarks", benchmarksView],
];

const main = document.querySelector<HTMLElement>("#main")!;
const live = document.querySelector<HTMLElement>("#live")!;
let view: View | null = null, shown = 0, overview: Overview | null = null;

function address(): { path: string; parameters: URLSearchParams } {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path === "" ? "runs" : path, parameters: new URLSearchParams(query) };
}

async function show(moveFocus: boolean): Promise<void> {
  const number = ++shown, { path, parameters } = address();
  for (const link of document.querySelectorAll<HTMLAnchorElement>("#views a")) {
    const isHere = link.dataset["path"] === (path === "run" ? "runs" : path);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    overview = await ask<Overview>("overview");
    const make = path === "run" ? runView : VIEWS.find(([name]) => name === path)?.[2] ?? runsView;
    const state: PageState = { overview, parameters, remember: (given) => remember(path, given) };
    const next = await make(state);
    if (number !== shown) return next.leave?.();
    view?.leave?.();
    view = next;
    main.replaceChildren(h("h1", {}, next.title), next.element);
    document.title = `${next.title} – rgx dashboard`;
    next.redraw?.();
  } catch (error) {
    if (number !== shown) return;
    main.replaceChildren(h("h1", {}, "Not shown"), problemBox([(error as Error).message])!);
  }
  if (moveFocus) main.focus();
}

function remember(path: string, given: Readonly<Record<string, string>>): void {
  const { parameters } = address();
  for (const [name, value] of Object.entries(given)) {
    if (value === "") parameters.delete(name);
    else parameters.set(name, value);
  }
  const query = parameters.toString();
  history.replaceState(null, "", `#/${path}${query === "" ? "" : `?${query}`}`);
}

function setTheme(choice: string): void {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset["theme"] = choice === "system" ? system : choice;
  document.querySelector("#theme")!.textContent = `Theme: ${choice}`;
  view?.redraw?.();
}

const THEMES = ["system", "light", "dark"];
let theme = localStorage.getItem("rgx-theme") ?? "system";
document.querySelector("#theme")!.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  localStorage.setItem("rgx-theme", theme);
  setTheme(theme);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(theme));

document.querySelector("#views")!.replaceChildren(
  ...VIEWS.map(([path, name]) =>
    h("li", {}, h("a", { href: `#/${path}`, "data-path": path }, name))
  ),
);
// The address after # is that of a view, so this link moves the focus by itself.
document.querySelector("#skip")!.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

let frame = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => view?.redraw?.());
});
addEventListener("hashchange", () => void show(true));
setTheme(theme);
await show(false);
listen((changes) => view?.changed?.(changes), (isConnected) => {
  const text = isConnected ? "● live" : "○ not connected, trying again …";
  if (live.textContent !== text) live.textContent = text;
});
