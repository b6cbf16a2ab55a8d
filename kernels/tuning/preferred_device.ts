/**
 * Which device `auto` takes on a card: `vulkan` where `rgx doctor --tune` has found it right and
 * clearly faster than `webgpu`, on this card with this driver; else webgpu.
 */
import { messageOf } from "../../core/errors.ts";
import type { AdapterInfo } from "../device.ts";
import { choicesFolder, type KeptRace, measurableOn, readChoices } from "./kept_choices.ts";

/** Vulkan is chosen only if it takes at most this share of webgpu's time: less is noise. */
const CLEARLY = 0.97;

/** Whether two devices are on the same kind of card. */
export const isSameCard = (a: AdapterInfo, b: AdapterInfo) =>
  a.vendor === b.vendor && a.device === b.device;

/** Whether vulkan is to be used, and why. */
export function judgement(race: KeptRace): { isBetter: boolean; why: string } {
  const { shapes, of, webgpu_ms, vulkan_ms, wrong } = race;
  if (wrong !== null) {
    return { isBetter: false, why: `on vulkan a result differs from webgpu's: ${wrong}` };
  }
  const ratio = (webgpu_ms / vulkan_ms).toFixed(2);
  const measured = `vulkan is ${ratio} × as fast as webgpu on this card, in ${shapes} shapes`;
  if (shapes < of) {
    return { isBetter: false, why: `${measured} of ${of}: not all were measured` };
  }
  return { isBetter: vulkan_ms <= CLEARLY * webgpu_ms, why: measured };
}

/** The device for a card, and why this one. */
export interface Preferred {
  name: "webgpu" | "vulkan";
  why: string;
}

/**
 * What `auto` takes on the card that webgpu offers.
 * @param vulkanAdapter the default device of Vulkan. @throws RgxError when there is none
 * @param keep the device on which a run began that goes on; null: none
 */
export async function preferredDevice(
  adapter: AdapterInfo,
  vulkanAdapter: () => AdapterInfo,
  keep: string | null = null,
): Promise<Preferred> {
  if (keep === "webgpu" || keep === "vulkan") return { name: keep, why: "the run began on it" };
  const webgpu = (why: string): Preferred => ({ name: "webgpu", why });
  const about = measurableOn("webgpu", adapter);
  if (choicesFolder(about) === null) return webgpu("there is no cache with a comparison");
  let other: AdapterInfo;
  try {
    other = vulkanAdapter();
  } catch (error) {
    return webgpu(messageOf(error).split("\n")[0]!);
  }
  if (!isSameCard(adapter, other)) return webgpu(`vulkan's first card is another: ${other.name}`);
  const vulkan = measurableOn("vulkan", other);
  const { race } = await readChoices(choicesFolder(vulkan)!, vulkan);
  if (race === null) return webgpu("rgx doctor --tune has not compared vulkan with it");
  if (JSON.stringify(race.webgpu) !== JSON.stringify(about)) {
    return webgpu("vulkan was compared with another version of it");
  }
  const { isBetter, why } = judgement(race);
  return { name: isBetter ? "vulkan" : "webgpu", why };
}
