/** Chooses the runs whose curves are shown: a box for each, with the colour of its lines. */
import { type ShownRun, swatch } from "./chart.ts";
import { h } from "./dom.ts";

/** With more runs than this the list is closed at first. */
const OPEN_UP_TO = 12;

export class RunChooser {
  readonly element: HTMLElement;
  readonly #all: readonly ShownRun[];
  readonly #chosen: Set<string>;
  readonly #changed: (ids: readonly string[]) => void;
  readonly #choices = h("div", { class: "choices" });

  /**
   * @param chosen the ids that are chosen at first
   * @param changed called with the ids after a choice of the user
   */
  constructor(
    all: readonly ShownRun[],
    chosen: Iterable<string>,
    changed: (ids: readonly string[]) => void,
  ) {
    this.#all = all;
    this.#chosen = new Set(chosen);
    this.#changed = changed;
    const button = (text: string, onclick: () => void) =>
      h("button", { type: "button", onclick }, text);
    this.element = h(
      "details",
      { class: "chooser", open: all.length <= OPEN_UP_TO },
      h("summary", {}, "Runs"),
      h(
        "fieldset",
        {},
        h("legend", { class: "hidden" }, "Runs to show"),
        this.#choices,
        h(
          "p",
          {},
          button("All", () => this.#choose(all, [])),
          " ",
          button("None", () => this.#choose([], all)),
        ),
      ),
    );
    this.draw();
  }

  /** The chosen runs, in the order of all. */
  get chosen(): readonly ShownRun[] {
    return this.#all.filter(({ id }) => this.#chosen.has(id));
  }

  /** Draws the boxes, in the colours of the theme. */
  draw(): void {
    this.#choices.replaceChildren(...this.#all.map((run) => {
      const box = h("input", { type: "checkbox", "data-run": run.id });
      box.checked = this.#chosen.has(run.id);
      box.addEventListener(
        "change",
        () => this.#choose(box.checked ? [run] : [], box.checked ? [] : [run]),
      );
      return h("label", {}, box, swatch(run.index), run.name);
    }));
  }

  #choose(added: readonly ShownRun[], removed: readonly ShownRun[]): void {
    for (const { id } of added) this.#chosen.add(id);
    for (const { id } of removed) this.#chosen.delete(id);
    for (const box of this.#choices.querySelectorAll<HTMLInputElement>("input")) {
      box.checked = this.#chosen.has(box.dataset["run"]!);
    }
    this.#changed([...this.#chosen]);
  }
}
