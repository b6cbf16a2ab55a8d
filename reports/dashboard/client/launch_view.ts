/** Starts a run: a recipe, its keys in a form, the plan, and the start. */
import { html, nothing, render } from "lit-html";
import type { LaunchForm, Said } from "../launch.ts";
import {
  ask,
  breakable,
  choice,
  failureBox,
  type PageState,
  type Part,
  valueOf,
  type View,
} from "./dom.ts";

/** Keys that are shown when nothing is searched, besides those that the recipe sets. */
const USUAL = [
  "model.model_name_or_path",
  "data.task_name",
  "training.max_steps",
  "training.learning_rate",
  "training.num_generations",
  "training.per_device_train_batch_size",
  "training.max_completion_length",
  "training.beta",
  "training.seed",
  "sft.max_steps",
  "eval.num_examples",
];
type LaunchKey = LaunchForm["keys"][number];

/** The most keys that a search shows. */
const MAX_FOUND = 40;

export async function launchView({ parameters, remember }: PageState): Promise<View> {
  let form = await ask<LaunchForm>("form", { recipe: parameters.get("recipe") });
  let name = `${form.recipe}-${new Date().toISOString().slice(5, 16).replaceAll(/\D/g, "")}`;
  let search = "", answer: Part = nothing, isBusy = false;
  const changed = new Map<string, string>(), content = document.createElement("div");

  async function send(what: "plan" | "start"): Promise<void> {
    isBusy = true;
    answer = html`<p class="note">${what === "plan" ? "Planning …" : "Starting …"}</p>`;
    draw();
    const body = { recipe: form.recipe, name, keys: Object.fromEntries(changed) };
    answer = await ask<Said>(what, {}, body).then(({ isOk, text }) =>
      html`
        <pre class=${isOk ? "said-well" : "problems"} tabindex="0">${text.trim()}</pre>
        ${isOk && what === "start" ? html`<p><a href="#/runs">To the runs</a></p>` : nothing}
      `, failureBox);
    isBusy = false;
    draw();
  }

  async function choose(recipe: string): Promise<void> {
    form = await ask<LaunchForm>("form", { recipe });
    remember({ recipe });
    changed.clear();
    draw();
  }

  function shown(): LaunchKey[] {
    const wanted = search.trim().toLowerCase();
    if (wanted === "") {
      return form.keys.filter(({ key }) => USUAL.includes(key) || changed.has(key))
        .toSorted((a, b) => USUAL.indexOf(a.key) - USUAL.indexOf(b.key));
    }
    return form.keys.filter(({ key, meaning }) =>
      `${key} ${meaning}`.toLowerCase().includes(wanted)
    )
      .slice(0, MAX_FOUND);
  }

  function keyRow({ key, expected, values, meaning, usual, value }: LaunchKey): Part {
    const now = changed.get(key) ?? value, id = `key-${key}`;
    const set = (event: Event) => {
      const given = valueOf(event);
      if (given === value) changed.delete(key);
      else changed.set(key, given);
      draw();
    };
    const options = values.includes(now) ? values : [now, ...values];
    return html`
      <tr class=${changed.has(key) ? "differs" : nothing}>
        <th scope="row"><label for=${id}>${breakable(key)}</label></th>
        <td>${values.length > 0
          ? html`<select id=${id} @change=${set}>${
            options.map((one) => html`<option ?selected=${one === now}>${one}</option>`)
          }</select>`
          : html`<input id=${id} .value=${now} @change=${set}>`}</td>
        <td>${meaning} <small class="note">Expected ${expected}; default ${usual}.</small></td>
      </tr>
    `;
  }

  function draw(): void {
    render(
      html`
        <div class="controls">
          ${choice("Recipe", form.recipes, form.recipe, (one) => void choose(one))}
          <label>Name of the run<input .value=${name} @input=${(event: Event) =>
            name = valueOf(event)}></label>
          <label>Search all ${form.keys.length} keys<input type="search" @input=${(
            event: Event,
          ) => {
            search = valueOf(event);
            draw();
          }}></label>
          <button type="button" ?disabled=${isBusy} @click=${() =>
            send("plan")}>Show the plan</button>
          <button type="button" class="main" ?disabled=${isBusy} @click=${() => send("start")}>
            Start
          </button>
        </div>
        <div role="status">${answer}</div>
        <div class="wide" role="region" aria-label="Keys" tabindex="0">
          <table class="keys form">
            <thead>
              <tr>
                <th scope="col">key</th>
                <th scope="col">value</th>
                <th scope="col">meaning</th>
              </tr>
            </thead>
            <tbody>${shown().map(keyRow)}</tbody>
          </table>
        </div>
      `,
      content,
    );
  }

  draw();
  return { title: "Start a run", content };
}
