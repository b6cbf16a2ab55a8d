/**
 * `deno task docs:config`: writes docs/configuration.md, foreign_keys.md and coming_from.md.
 */
import { comingFromPage } from "../configs/coming_from/coming_from_page.ts";
import { foreignKeysPage } from "../configs/foreign_page.ts";
import { configurationReference } from "../configs/reference_page.ts";

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
