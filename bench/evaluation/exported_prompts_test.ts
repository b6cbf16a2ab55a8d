/** Files of `rgx tasks export` give the prompts that the tasks themselves give. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { withFolder } from "../../core/testing.ts";
import { EXPORT_FORMATS, ROW_FORMATS, withSplit } from "../../data/export_formats.ts";
import { SYSTEM_PROMPTS } from "../../data/prompt.ts";
import { readRows } from "../../data/read_rows.ts";
import { entriesOf } from "../../data/row_entries.ts";
import { writeJsonLines, writeParquet } from "../../data/write_rows.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { taskNames } from "../../tasks/registry.ts";
import { cases } from "../../tests/cases.ts";
import { DEFAULT_PROMPT_SETTINGS } from "./prompt_settings.ts";
import { promptMessages } from "./prompt_text.ts";

const SYSTEMS = [null, ...Object.keys(SYSTEM_PROMPTS), "Réponds en français.\n\nSois bref."];
/** Tasks that are made of others, or that need parameters. */
const LEFT_OUT = ["composite"];

Deno.test("every format of exported files gives the same prompts, system messages included", async () => {
  const names = taskNames().filter((name) => !LEFT_OUT.includes(name));
  await withFolder(async (folder) => {
    for (const format of EXPORT_FORMATS) {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...SYSTEMS),
          fc.constantFrom(...names),
          fc.integer({ min: 0, max: 1000 }),
          fc.boolean(),
          fc.boolean(),
          fc.constantFrom("jsonl", "parquet"),
          async (systemPrompt, name, seed, addInstructions, severalSplits, kind) => {
            const set = createDataset(name, { seed });
            const entries = [0, 1].map((i) => set.entry(i));
            const shape = severalSplits ? withSplit(ROW_FORMATS[format]) : ROW_FORMATS[format];
            const rows = entries.map((one) =>
              shape.row(one, "train", { systemPrompt, addInstructions })
            );
            const path = `${folder}/a.${kind}`;
            if (kind === "jsonl") await writeJsonLines(path, rows);
            else await writeParquet(path, shape.columns, rows);
            const found = entriesOf(await readRows([path]), path);
            const asked = {
              ...DEFAULT_PROMPT_SETTINGS,
              system_prompt: systemPrompt,
              add_instructions: addInstructions,
            };
            // A raw entry has no prompt yet; the other formats have all of it.
            const settings = format === "raw" ? asked : {
              ...DEFAULT_PROMPT_SETTINGS,
              add_instructions: false,
            };
            for (const [i, entry] of entries.entries()) {
              assert.deepEqual(
                promptMessages(found[i]!, [], settings),
                promptMessages(entry, [], asked),
              );
              assert.deepEqual([found[i]!.question, found[i]!.answer], [
                entry.question,
                entry.answer,
              ]);
            }
          },
        ),
        { numRuns: cases(16) },
      );
    }
  });
});
