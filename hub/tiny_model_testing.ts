/** A tiny model on the Hub of the tests: pulls it, and says where its files are in the cache. */
import assert from "node:assert/strict";
import { RgxError } from "../core/errors.ts";
import { pull, type PullOptions } from "./pull.ts";
import type { Repository } from "./repository.ts";
import { COMMIT, type FakeHub, noise, type Seen, settingsFor, tagOf } from "./testing.ts";

const MODEL: Repository = { kind: "model", name: "org/tiny" };
export const WEIGHTS = noise(300_000);
export const TAG = tagOf({ name: "model.safetensors", bytes: WEIGHTS, lfs: true });

export function get(hub: FakeHub, cache: string, more: PullOptions = {}) {
  return pull(MODEL, { settings: settingsFor(hub, cache), firstDelay: 1, ...more });
}

/** The exit code, message and advice of a pull that must fail. */
export async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof RgxError, String((error as Error).stack));
    return `${error.exitCode} ${error.message}\n${error.advice ?? ""}`;
  }
  assert.fail("it did not fail");
}

export const places = (cache: string) => {
  const folder = `${cache}/models--org--tiny`;
  return {
    blob: `${folder}/blobs/${TAG}`,
    incomplete: `${folder}/blobs/${TAG}.incomplete`,
    wrong: `${folder}/blobs/${TAG}.wrong`,
    weights: `${folder}/snapshots/${COMMIT}/model.safetensors`,
    ref: `${folder}/refs/main`,
  };
};

/** Whether a request is one for the content of the weights. */
export const isContent = ({ server, method }: Seen) => server === "content" && method === "GET";
