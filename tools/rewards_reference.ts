/** `deno task docs:rewards`: writes docs/rewards.md from the registry. */
import { rewardsReference } from "../rewards/reference_page.ts";

const page = new URL("../docs/rewards.md", import.meta.url);
await Deno.writeTextFile(page, rewardsReference());
console.log("docs/rewards.md");
