/** The page: chooses the view by the address, passes on changes of files, and sets the theme. */
import { html, nothing, render } from "lit-html";
import type { Overview } from "../data_routes.ts";
import { benchmarksView } from "./benchmarks_view.ts";
import { compareView } from "./compare_view.ts";
import { completionsView } from "./completions_view.ts";
import { curvesView } from "./curves_view.ts";
import { ask, failureBox, listen, type PageState, type View } from "./dom.ts";
import { launchView } from "./launch_view.ts";
import { runView } from "./run_view.ts";
import { runsView } from "./runs_view.ts";

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
/** A view that exists where the dashboard may start runs. */
const LAUNCH = ["start", "Start a run", launchView] as const;

const [main, views, live, themeButton] = ["#main", "#views", "#live", "#theme"].map((selector) =>
  document.querySelector<HTMLElement>(selector)!
) as [HTMLElement, HTMLElement, HTMLElement, HTMLElement];
let view: View | null = null, shown = 0;

function address(): { path: string; parameters: URLSearchParams } {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path === "" ? "runs" : path, parameters: new URLSearchParams(query) };
}

function fill(title: string, content: View["content"]): void {
  render(html`<h1>${title}</h1>${content}`, main);
}

async function show(moveFocus: boolean): Promise<void> {
  const number = ++shown, { path, parameters } = address();
  const here = path === "run" ? "runs" : path;
  try {
    const overview = await ask<Overview>("overview");
    const all = overview.allowsRuns ? [...VIEWS, LAUNCH] : VIEWS;
    render(
      all.map(([path, name]) => {
        const current = path === here ? "page" : nothing;
        return html`<li><a href=${`#/${path}`} aria-current=${current}>${name}</a></li>`;
      }),
      views,
    );
    const make = path === "run" ? runView : all.find(([name]) => name === path)?.[2] ?? runsView;
    const state: PageState = { overview, parameters, remember: (given) => remember(path, given) };
    const next = await make(state);
    if (number !== shown) return next.leave?.();
    view?.leave?.();
    view = next;
    fill(next.title, next.content);
    document.title = `${next.title} – rgx dashboard`;
    next.redraw?.();
  } catch (error) {
    if (number !== shown) return;
    fill("Not shown", failureBox(error));
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
  themeButton.textContent = `Theme: ${choice}`;
  view?.redraw?.();
}

const THEMES = ["system", "light", "dark"];
let theme = localStorage.getItem("rgx-theme") ?? "system";
themeButton.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  localStorage.setItem("rgx-theme", theme);
  setTheme(theme);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(theme));

// The part of the address after # names a view, so this link has to move the focus itself.
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
fill("Loading …", nothing);
await show(false);
listen((changes) => view?.changed?.(changes), (isConnected) => {
  const text = isConnected ? "● live" : "○ not connected, trying again …";
  if (live.textContent !== text) live.textContent = text;
});
