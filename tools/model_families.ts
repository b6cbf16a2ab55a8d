/** `deno task docs:models`: writes the table of families in docs/models.md. */
import { familyTable } from "../models/architectures/families.ts";

const page = new URL("../docs/models.md", import.meta.url), text = await Deno.readTextFile(page);
const [before, rest] = text.split("<!-- families: written by deno task docs:models -->\n");
const [, after] = rest!.split("<!-- /families -->");
await Deno.writeTextFile(
  page,
  `${before}<!-- families: written by deno task docs:models -->\n\n${familyTable()}\n\n` +
    `<!-- /families -->${after}`,
);
console.log("docs/models.md");
