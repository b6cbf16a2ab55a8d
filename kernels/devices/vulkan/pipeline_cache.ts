/**
 * What the driver has compiled, kept in the user's cache folder, so that the next process need not
 * wait for it: one file for each adapter, driver and version of rgx. Drivers trust what they are
 * given, so the bytes have a checksum: a damaged file is not used. It is replaced by the next one.
 */
import { userCache } from "../../../core/cache/user_cache.ts";
import { sha256Hex } from "../../../core/checksums.ts";
import { fileName } from "../../../core/paths.ts";
import { VERSION } from "../../../core/version.ts";
import type { AdapterInfo } from "../../device.ts";
import type { Bytes } from "./memory_layout.ts";

/** The first bytes of a file: its kind and version, then the SHA-256 of the rest. */
const MAGIC = new TextEncoder().encode("rgxpipe1"), SUM_BYTES = 32;
/** Vulkan's header, which a driver gives that keeps nothing. */
const EMPTY_BYTES = 32;
/** A larger cache is not kept. */
const MAX_BYTES = 2 ** 28;

export class PipelineCacheFile {
  readonly #path: string | null;
  /** What the file has, as far as this process knows. */
  #sum = "";

  /** @param cache the user's cache folder; null: nothing is kept */
  constructor(adapter: AdapterInfo, cache: string | null = userCache()) {
    const key = sha256Hex(JSON.stringify({ rgx: VERSION, adapter })).slice(0, 12);
    const name = fileName(adapter.name).slice(0, 60);
    this.#path = cache === null ? null : `${cache}/pipelines/${name}-${key}.bin`;
  }

  /** What was kept; null: nothing, or nothing that can be used. */
  read(): Bytes | null {
    if (this.#path === null) return null;
    let file: Bytes;
    try {
      file = Deno.readFileSync(this.#path);
    } catch {
      return null;
    }
    const start = MAGIC.length + SUM_BYTES, bytes = file.slice(start);
    if (file.length <= start || !MAGIC.every((byte, i) => file[i] === byte)) return null;
    const sum = sha256Hex(bytes);
    if (sum !== hex(file.subarray(MAGIC.length, start))) return null;
    this.#sum = sum;
    return bytes;
  }

  /** Keeps what the driver has. Never fails: the file only saves time. */
  write(bytes: Bytes): void {
    if (this.#path === null || bytes.length <= EMPTY_BYTES || bytes.length > MAX_BYTES) return;
    const sum = sha256Hex(bytes);
    if (sum === this.#sum) return;
    const part = `${this.#path}.${Deno.pid}.part`;
    try {
      Deno.mkdirSync(this.#path.slice(0, this.#path.lastIndexOf("/")), { recursive: true });
      const file = new Uint8Array(MAGIC.length + SUM_BYTES + bytes.length);
      file.set(MAGIC);
      file.set(Uint8Array.from(sum.match(/../g)!, (byte) => parseInt(byte, 16)), MAGIC.length);
      file.set(bytes, MAGIC.length + SUM_BYTES);
      Deno.writeFileSync(part, file);
      Deno.renameSync(part, this.#path);
      this.#sum = sum;
    } catch {
      try {
        Deno.removeSync(part);
      } catch {
        // It was not created.
      }
    }
  }
}

const hex = (bytes: Uint8Array) =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
