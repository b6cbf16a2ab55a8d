/**
 * `deno task docs:config`: writes docs/configuration.md, foreign_keys.md and coming_from.md, and
 * the comments in configs/schema/sections/.
 */
import { comingFromPage } from "../configs/coming_from/coming_from_page.ts";
import { foreignKeysPage } from "../configs/foreign_page.ts";
import { configurationReference } from "../configs/reference_page.ts";
import { commentedSections } from "../configs/schema/section_comments.ts";

for (
  const [name, page] of [
    ["configuration.md", configurationReference()],
    ["foreign_keys.md", foreignKeysPage()],
    ["coming_from.md", await comingFromPage()],
  ] as const
) {
  const path = new URL(`../docs/${name}`, import.meta.url);
  await Deno.writeTextFile(path, page);
  console.log(`docs/${name} written`);
}

const sections = new URL("../configs/schema/sections/", import.meta.url);
for (
  const [name, text] of commentedSections((file) => Deno.readTextFileSync(new URL(file, sections)))
) {
  await Deno.writeTextFile(new URL(name, sections), text);
  console.log(`configs/schema/sections/${name} written`);
}
