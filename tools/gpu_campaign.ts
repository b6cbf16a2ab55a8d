/**
 * `deno task gpu:campaign`: measures a card in 25 minutes and writes its section of docs/gpu.md:
 * conformance, the tuner, products (beside torch), decoding, a GRPO step of Qwen2.5-0.5B's shape
 * (beside transformers and PEFT), kernels that memory limits, and the bus. On a software adapter
 * the sizes are tiny, and the result only shows that the program works.
 *
 * The goals' parts come first, on each device, and then the rest (gpu/visits.ts). Each visit of a
 * device is a process of its own. After each part, what was found is written. A part ends when its
 * share of the time is over. If a driver crashes or hangs, another process goes on with the part
 * after it.
 *
 *     deno task gpu:campaign [--device webgpu,vulkan] [--python PATH|none] [--page docs/gpu.md]
 *                            [--minutes 25] [--json FILE] [part …]
 */
import { parseArgs } from "node:util";
import { messageOf } from "../core/errors.ts";
import { writeFileAtomic } from "../core/atomic_file.ts";
import { campaign, checkCampaign } from "./gpu/campaign.ts";
import { type CampaignResult, goalLines, withCard } from "./gpu/page.ts";
import { findPython } from "./gpu/peers.ts";
import { type CampaignLine, IN_PROCESS } from "./gpu/process.ts";
import { makeVisits, visitsOf } from "./gpu/visits.ts";

if (import.meta.main) {
  await main().catch((error) => {
    console.error(`error: ${messageOf(error)}`);
    Deno.exit(1);
  });
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals: parts } = parseArgs({
    options: { device: text, python: text, page: text, minutes: text, json: text },
    allowPositionals: true,
  });
  const { page = "docs/gpu.md", json = null } = values;
  const devices = (values.device ?? "webgpu,vulkan").split(",");
  const minutes = Number(values.minutes ?? 25);
  const named = values.python === "none" ? null : values.python;
  const state = Deno.env.get(IN_PROCESS);
  if (state !== undefined) {
    const tell = (line: string) => console.error(line);
    const progress = (line: CampaignLine) => console.log(JSON.stringify(line));
    const before = JSON.parse(await Deno.readTextFile(state));
    const [device] = devices;
    await campaign({
      device: device!,
      python: named ?? null,
      minutes,
      parts,
      before,
      tell,
      progress,
    });
    return;
  }
  // Before anything is measured.
  checkCampaign({ parts, minutes });
  await Deno.readTextFile(page);
  const python = named === undefined ? await findPython() : named;
  console.error(
    python === null
      ? "no Python with torch, transformers and peft (--python): nothing is measured beside them"
      : `beside ${python}`,
  );
  const all = new Map<string, CampaignResult>();
  const isWhole = await makeVisits(visitsOf(devices, parts), {
    script: import.meta.filename!,
    args: ["--python", python ?? "none"],
    minutes,
    tell: (line) => console.error(line),
    on: async (found) => {
      all.set(found.device, found);
      await writeFileAtomic(page, withCard(await Deno.readTextFile(page), found));
      if (json !== null) {
        await writeFileAtomic(json, JSON.stringify([...all.values()], null, 1) + "\n");
      }
    },
  });
  for (const found of all.values()) console.error(goalLines(found).join("\n"));
  console.error(all.size > 0 ? `written: ${page}` : "nothing was found");
  if (!isWhole) Deno.exit(1);
}
