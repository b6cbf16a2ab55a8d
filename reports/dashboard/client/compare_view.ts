/** What two runs' configurations differ in. */
import type { ConfigComparison } from "../api.ts";
import { choice, field, h, type PageState, problemBox, type View } from "./dom.ts";
import { ask } from "./server.ts";

export function compareView({ overview, parameters, remember }: PageState): View {
  const { runs } = overview;
  if (runs.length === 0) {
    return { title: "Configurations", element: h("p", {}, "There is no run yet.") };
  }
  let first = parameters.get("first") || runs[0]!.id;
  let second = parameters.get("second") ?? "", onlyDifferent = parameters.get("all") !== "1";
  const result = h("div");
  const options = runs.map(({ id, name }) => [id, name] as const);

  async function load(): Promise<void> {
    remember({ first, second, all: onlyDifferent ? "" : "1" });
    let found: ConfigComparison;
    try {
      found = await ask<ConfigComparison>("config", { run: first, other: second });
    } catch (error) {
      return result.replaceChildren(problemBox([(error as Error).message])!);
    }
    const different = found.keys.filter(({ differs }) => differs);
    const keys = found.second !== null && onlyDifferent ? different : found.keys;
    const text = found.second === null
      ? `${keys.length} keys`
      : `${different.length} of ${found.keys.length} keys differ`;
    result.replaceChildren(
      ...[problemBox(found.problems)].filter((box) => box !== null),
      h("p", { class: "note", role: "status" }, text),
      h(
        "div",
        { class: "wide", role: "region", "aria-label": "Keys", tabindex: 0 },
        h(
          "table",
          { class: "keys" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["key", nameOf(first), ...(found.second === null ? [] : [nameOf(second)])].map((
                name,
              ) => h("th", { scope: "col" }, name)),
            ),
          ),
          h(
            "tbody",
            {},
            keys.map((key) =>
              h(
                "tr",
                { class: key.differs && !onlyDifferent ? "differs" : null },
                h("th", { scope: "row" }, key.key),
                h("td", {}, key.first ?? "not set"),
                found.second === null ? null : h("td", {}, key.second ?? "not set"),
              )
            ),
          ),
        ),
      ),
    );
  }

  const nameOf = (id: string) => runs.find((run) => run.id === id)?.name ?? id;
  const box = h("input", { type: "checkbox" });
  box.checked = onlyDifferent;
  box.addEventListener("change", () => {
    onlyDifferent = box.checked;
    void load();
  });
  void load();
  return {
    title: "Configurations",
    element: h(
      "div",
      {},
      h(
        "div",
        { class: "controls" },
        field(
          "First run",
          choice(options, first, (id) => {
            first = id;
            void load();
          }),
        ),
        field(
          "Second run",
          choice([["", "none"], ...options], second, (id) => {
            second = id;
            void load();
          }),
        ),
        h("label", { class: "check" }, box, "only what differs"),
      ),
      result,
    ),
  };
}
