/** `deno task docs:config`: writes docs/configuration.md from the schema. */
import { configurationReference } from "../configs/reference_page.ts";

const page = new URL("../docs/configuration.md", import.meta.url);
await Deno.writeTextFile(page, configurationReference());
console.log("docs/configuration.md");
