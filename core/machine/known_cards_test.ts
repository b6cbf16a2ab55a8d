import assert from "node:assert/strict";
import { UsageError } from "../errors.ts";
import { findCard, KNOWN_CARDS, parseDeviceMemory } from "./known_cards.ts";

Deno.test("every card is found by its name, in the spelling of rgx and of the vendor", () => {
  for (const card of KNOWN_CARDS) {
    assert.equal(findCard(card.id).id, card.id);
    if (!card.id.startsWith("mi250")) assert.equal(findCard(card.name).id, card.id, card.name);
    assert.ok(card.id.includes(`${card.memory / 1e9}gb`), card.id);
    assert.ok(card.flops > 5e12 && card.flops < 200e12, card.id);
    assert.ok(card.bandwidth > 200e9 && card.bandwidth < 10e12, card.id);
  }
  assert.equal(new Set(KNOWN_CARDS.map(({ id }) => id)).size, KNOWN_CARDS.length);
});

Deno.test("names as people and drivers write them", () => {
  const names: Record<string, string> = {
    "h100": "h100-80gb",
    "H100-80GB": "h100-80gb",
    "NVIDIA H100 80GB HBM3": "h100-80gb",
    "h100_sxm5": "h100-80gb",
    "H100 PCIe": "h100-80gb-pcie",
    "h100-pcie-80gb": "h100-80gb-pcie",
    "h100 nvl": "h100-94gb-nvl",
    "NVIDIA H200": "h200-141gb",
    "a100": "a100-40gb",
    "a100-80": "unknown",
    "a100-80g": "a100-80gb",
    "NVIDIA A100-SXM4-80GB": "a100-80gb",
    "NVIDIA A100 80GB PCIe": "a100-80gb-pcie",
    "NVIDIA A100-PCIE-40GB": "a100-40gb",
    "Tesla T4": "t4-16gb",
    "t4-pcie": "t4-16gb",
    "Tesla V100-SXM2-32GB": "v100-32gb",
    "4090": "rtx4090-24gb",
    "RTX 4090": "rtx4090-24gb",
    "NVIDIA GeForce RTX 3090 Ti": "rtx3090ti-24gb",
    "rtx-3090": "rtx3090-24gb",
    "RTX A6000": "a6000-48gb",
    "a6000": "a6000-48gb",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada-48gb",
    "MI300X": "mi300x-192gb",
    "AMD Instinct MI250X": "mi250x-64gb",
    "l40s": "l40s-48gb",
  };
  for (const [name, id] of Object.entries(names)) {
    if (id === "unknown") assert.throws(() => findCard(name), UsageError);
    else assert.equal(findCard(name).id, id, name);
  }
});

Deno.test("an unknown card is refused with a similar one and the list of all", () => {
  const refused = (name: string, message: RegExp) =>
    assert.throws(() => findCard(name), (error: UsageError) => {
      assert.match(error.message, message);
      assert.match(error.advice!, /h100-80gb.*mi300x-192gb/);
      return true;
    });
  refused("h1000", /^--gpu h1000: unknown card, did you mean h100-80gb\?$/);
  refused("rtx4091", /did you mean rtx4090-24gb\?$/);
  refused("h100-64gb", /^--gpu h100-64gb: no such card, only h100-80gb, h100-80gb-pcie, h100-94gb/);
  refused("v100-nvl", /no such card, only v100-16gb, v100-16gb-pcie, v100-32gb, v100-32gb-pcie$/);
  refused("abacus", /^--gpu abacus: unknown card$/);
  refused("", /unknown card/);
  refused("gpu", /unknown card/);
});

Deno.test("a device's memory has a unit and is the memory of a card", () => {
  assert.equal(parseDeviceMemory("80GB"), 80e9);
  assert.equal(parseDeviceMemory("80gb"), 80e9);
  assert.equal(parseDeviceMemory("80G"), 80e9);
  assert.equal(parseDeviceMemory("24GiB"), 24 * 2 ** 30);
  assert.equal(parseDeviceMemory(" 512 MiB "), 512 * 2 ** 20);
  assert.equal(parseDeviceMemory("1.5TB"), 1.5e12);
  const message = (text: string) => {
    try {
      parseDeviceMemory(text);
    } catch (error) {
      if (error instanceof UsageError) return `${error.message} ${error.advice ?? ""}`;
      throw error;
    }
    return "accepted";
  };
  assert.match(message("80"), /has no unit, .*Write --device-memory 80GB\.$/);
  assert.match(message("eighty"), /--device-memory eighty: expected a size with its unit/);
  assert.match(message("80XB"), /unknown unit XB/);
  assert.match(message("-4GB"), /expected a size/);
  assert.match(message("0GB"), /expected between 256MiB and 16TiB/);
  assert.match(message("80000TB"), /expected between/);
  assert.match(message("80 GB please"), /expected a size/);
});
