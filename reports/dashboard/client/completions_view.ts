/** The completions of a run by step and prompt, filtered and searched. */
import { html, nothing, render } from "lit-html";
import { counted } from "../../../core/counted.ts";
import type { CompletionPage, CompletionRow } from "../reading/completions.ts";
import type { RunDetails } from "../reading/run_state.ts";
import type { CompletionTokens } from "../reading/tokens.ts";
import {
  ask,
  debounced,
  failureBox,
  Fields,
  marked,
  PagedRows,
  type PageState,
  type Part,
  problemBox,
  type View,
} from "./dom.ts";
import { percent, short, signed } from "./text.ts";

const FIELDS = [
  "run",
  "from",
  "to",
  "prompt",
  "text",
  "answer",
  "advantage",
  "reward",
  "min",
  "max",
] as const;
const ANSWERS = [["", "any"], ["found", "found"], ["none", "not found"]] as const;
const ADVANTAGES = [
  ["", "any"],
  ["positive", "above 0"],
  ["negative", "below 0"],
  ["zero", "0"],
] as const;

export function completionsView(state: PageState): View {
  const runs = state.overview.runs.filter(({ hasCompletions }) => hasCompletions);
  if (runs.length === 0) {
    return {
      title: "Completions",
      content: html`<p>No run has written completions (log_completions: true writes them).</p>`,
    };
  }
  const content = document.createElement("div");
  const fields = new Fields(state, FIELDS, debounced(() => void pages.load()));
  const filter = fields.values;
  filter.run ||= runs[0]!.id;
  let rewards: string[] = [], weights: Record<string, number> = {}, weighed = "";
  let said: [note: string, problems: Part] = ["Reading …", nothing];
  const tokens = new TokenRows(() => filter.run, draw);

  const pages = new PagedRows<CompletionPage>(async (after) => {
    const { run } = filter;
    if (weighed !== run) {
      weights = (await ask<RunDetails>("run", { run })).weights;
      weighed = run;
    }
    return await ask<CompletionPage>("completions", { ...filter, after, limit: 60 });
  }, (page, problem) => {
    if (page === null) {
      said = ["", problemBox([problem])];
      return draw();
    }
    rewards = page.rewards;
    const steps = page.steps === null
      ? "no steps yet"
      : `${page.steps.count} steps, ${page.steps.first} to ${page.steps.last}`;
    const more = page.next === null ? "" : ", there are more";
    said = [
      `${pages.rows.length} completions shown${more}; the run has completions of ${steps}.`,
      problemBox(page.problems),
    ];
    draw();
  });

  function draw(): void {
    const [note, problems] = said, { prompt, text, reward } = filter;
    const names = reward === "" || rewards.includes(reward) ? rewards : [...rewards, reward];
    const isDialogue = pages.rows.some((row) => row.dialogue !== null);
    render(
      html`
        ${problems}
        <details class="filters" ?open=${innerWidth > 700}>
          <summary>Filters</summary>
          <div class="controls" role="search">
            ${fields.choice("run", "Run", runs.map(({ id, name }) => [id, name] as const))}
            ${fields.input("prompt", "Prompt contains")}
            ${fields.input("text", "Completion contains")}
            ${fields.choice("answer", "Answer", ANSWERS)}
            ${fields.choice("advantage", "Advantage", ADVANTAGES)}
            ${fields.choice("reward", "Reward", [["", "any"], ...names])}
            ${fields.input("min", "at least", "number")} ${fields.input("max", "at most", "number")}
            ${fields.input("from", "From step", "number")} ${fields.input(
              "to",
              "To step",
              "number",
            )}
          </div>
        </details>
        <p class="note" role="status">${note}</p>
        ${isDialogue
          ? html`<p class="note"><span class="turn counted">model: the loss counts it</span>
            <span class="turn not-counted">came back to the model: not counted</span></p>`
          : nothing}
        ${completionTable(pages.rows, weights, tokens, { prompt, text })} ${pages.more}
      `,
      content,
    );
  }

  draw();
  void pages.load();
  return {
    title: "Completions",
    content,
    changed(changes) {
      // New steps come first; a list that a person is reading further down stays as it is.
      if (changes.runs.includes(filter.run) && scrollY < 200) void pages.load();
    },
  };
}

// Completions as dense rows, with the rewards by reward and their parts of the sum.

/** What the user searches for, which is marked. */
interface Searched {
  prompt: string;
  text: string;
}

/**
 * A block for each prompt of a step, with its completions below it.
 * @param weights of the rewards in the sum
 * @param tokens shows the tokens of a row when the user asks for them
 */
export function completionTable(
  rows: readonly CompletionRow[],
  weights: Readonly<Record<string, number>>,
  tokens: TokenRows,
  searched: Searched = { prompt: "", text: "" },
): Part {
  return html`${byPrompt(rows).map((group) => groupTable(group, weights, tokens, searched))}`;
}

/** The completions of each prompt of a step. */
export function byPrompt(rows: readonly CompletionRow[]): CompletionRow[][] {
  return [...Map.groupBy(rows, ({ step, prompt }) => `${step}\n${prompt}`).values()];
}

function groupTable(
  rows: readonly CompletionRow[],
  weights: Readonly<Record<string, number>>,
  tokens: TokenRows,
  searched: Searched,
): Part {
  const { step, prompt, expected, rewards, extras } = rows[0]!;
  const names = Object.keys(rewards), more = Object.keys(extras);
  const numbers = [...names, ...(names.length > 1 ? ["sum"] : []), "advantage", ...more];
  return html`
    <article class="card">
      <div class="prompt">
        <span class="label">step ${step}</span>
        <pre tabindex="0">${marked(prompt.trim(), searched.prompt)}</pre>
        ${expected === null ? nothing : html`
          <span><span class="label">expected</span> <b>${expected}</b></span>
        `}
      </div>
      <div class="wide" role="group" aria-label=${`completions of step ${step}`} tabindex="0">
        <table class="completions">
          <thead>
            <tr>
              <th scope="col">given</th>
              <th scope="col">completion</th>
              ${numbers.map((name) => html`<th scope="col" class="number">${name}</th>`)}
            </tr>
          </thead>
          <tbody>${equalOnes(rows).map((equal) =>
            completionRow(equal, names, more, weights, tokens, searched.text)
          )}</tbody>
        </table>
      </div>
    </article>
  `;
}

/** Completions of a prompt that are equal, with all their numbers, stand in one row. */
function equalOnes(rows: readonly CompletionRow[]): CompletionRow[][] {
  const groups = Map.groupBy(rows, ({ row: _, ...rest }) => JSON.stringify(rest));
  return [...groups.values()];
}

/** @param equal equal completions, at least one */
function completionRow(
  equal: readonly CompletionRow[],
  names: readonly string[],
  more: readonly string[],
  weights: Readonly<Record<string, number>>,
  tokens: TokenRows,
  searched: string,
): Part {
  const [row] = equal as [CompletionRow, ...CompletionRow[]];
  const { expected, extracted, rewards, advantage, extras, dialogue, completion } = row;
  const isRight = expected !== null && extracted === expected;
  const partOf = (name: string) => (rewards[name] ?? 0) * (weights[name] ?? 1);
  const sum = names.reduce((all, name) => all + partOf(name), 0);
  const reward = (name: string) => {
    const value = rewards[name], weight = weights[name] ?? 1;
    const part = value === null || weight === 1 ? nothing : html`
      <small title="its part of the sum">${short(partOf(name))}</small>
    `;
    return html`<td class="number" data-label=${name}>${short(value)} ${part}</td>`;
  };
  const kind = advantage === null || advantage === 0 ? "" : advantage > 0 ? "good" : "bad";
  return html`
    <tr data-row=${row.row}>
      <td class=${`given ${isRight ? "good" : ""}`}>
        ${extracted === null ? html`<span class="note">no answer</span>` : extracted}
        ${isRight ? html`<span aria-label="right">✓</span>` : nothing}
        ${equal.length === 1 ? nothing : html`<small>${equal.length} times</small>`}
      </td>
      <td class="text">${dialogue === null
        ? html`<span class="said">${marked(completion, searched)}</span>`
        : turns(dialogue)}
        ${row.ending === null ? nothing : html`
          <small class="note">ended: ${row.ending}</small>
        `} ${tokens.of(row)}</td>
      ${names.map(reward)}
      ${names.length > 1 ? html`<td class="number" data-label="sum">${short(sum)}</td>` : nothing}
      <td class=${`number ${kind}`} data-label="advantage">${short(advantage)}</td>
      ${more.map((name) => {
        const value = extras[name] ?? null;
        return html`<td class="number" data-label=${name}>${
          typeof value === "number" ? short(value) : value ?? "–"
        }</td>`;
      })}
    </tr>
  `;
}

/** The turns of a dialogue: what the loss counts, and what came back to the model. */
function turns(dialogue: NonNullable<CompletionRow["dialogue"]>): Part {
  return html`
    <ol class="turns">
      ${dialogue.map(({ role, text }) =>
        html`
          <li class=${role === "assistant" ? "counted" : "not-counted"}>
            <span class="label">${role === "assistant" ? "model" : role}</span>
            <span class="said">${text}</span>
          </li>
        `
      )}
    </ol>
  `;
}

/** The tokens of some completions with their log-probabilities and entropies, when asked for. */
export class TokenRows {
  readonly #shown = new Map<string, Part>();

  /** @param draw draws the completions again */
  constructor(private readonly run: () => string, private readonly draw: () => void) {}

  /** The button of a completion, and its tokens if they are shown. */
  of(row: CompletionRow): Part {
    const shown = this.#shown.get(this.#key(row));
    return html`
      <button
        type="button"
        class="tokens-button"
        aria-expanded=${shown === undefined ? "false" : "true"}
        title="log-probability and entropy of each token"
        @click=${() => this.#toggle(row)}
      >tokens</button>
      ${shown ?? nothing}
    `;
  }

  #key({ step, row }: CompletionRow): string {
    return `${this.run()} ${step} ${row}`;
  }

  #toggle(completion: CompletionRow): void {
    const run = this.run(), key = this.#key(completion), { step, row } = completion;
    const show = (part: Part) => {
      this.#shown.set(key, part);
      this.draw();
    };
    if (this.#shown.delete(key)) return this.draw();
    show(html`<p class="note">A model of the run reads it …</p>`);
    ask<CompletionTokens>("tokens", { run, step, row }).then(tokenList, failureBox)
      .then((part) => this.#shown.has(key) && show(part));
  }
}

/** Tokens whose share is less than 1/e, 1/e², … have stronger colours, up to this many. */
const LEVELS = 4;

function tokenList({ model, modelSteps, tokens }: CompletionTokens): Part {
  const level = (logprob: number) => Math.min(LEVELS, Math.floor(-logprob));
  const others = (likeliest: CompletionTokens["tokens"][number]["likeliest"]) =>
    likeliest.map(([text, logprob]) => `${JSON.stringify(text)} ${percent(Math.exp(logprob))}`);
  const [sum, entropy] = [
    tokens.reduce((all, { logprob }) => all + (logprob ?? 0), 0),
    tokens.reduce((all, { entropy }) => all + (entropy ?? 0), 0) / tokens.length,
  ];
  return html`
    <p class="note">
      Below each token its log-probability and the entropy of its place, in nats, by
      ${model}${modelSteps === null ? "" : `, the model after ${counted(modelSteps, "step")}`}. All
      tokens together: ${short(sum)}; mean entropy ${short(entropy)}.
    </p>
    <ol class="tokens" tabindex="0" aria-label="tokens">
      ${tokens.map(({ text, logprob, entropy, likeliest }) =>
        html`
          <li
            data-level=${level(logprob ?? 0)}
            title=${`likeliest here: ${others(likeliest).join(", ")}`}
          >
            <span class="said">${text.replaceAll("\n", "⏎")}</span>
            <small>${logprob === null ? "–" : signed(logprob.toFixed(2))}</small>
            <small>${entropy === null ? "–" : entropy.toFixed(2)}</small>
          </li>
        `
      )}
    </ol>
  `;
}
