/** `deno task docs:config`: writes docs/configuration.md, foreign_keys.md and coming_from.md. */
import { pages } from "../configs/pages/pages.ts";

for (const [name, page] of await pages()) {
  await Deno.writeTextFile(new URL(`../docs/${name}`, import.meta.url), page);
  console.log(`docs/${name} written`);
}
