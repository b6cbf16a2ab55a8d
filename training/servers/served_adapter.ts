/**
 * The adapter at one step of a run, as servers get it: its two files in PEFT's format. Its name
 * follows from its content, so a server that is restarted, or a run that is resumed, never takes
 * one policy for another.
 */
import { Buffer } from "node:buffer";
import { resolve } from "node:path";
import { type FileContent, writeFolderAtomic } from "../../core/atomic_file.ts";
import { sha256Hex } from "../../core/checksums.ts";

const HASH_LENGTH = 16;

export class ServedAdapter {
  readonly name: string;
  #folder: Promise<string> | null = null;

  /** @param files adapter_config.json and adapter_model.safetensors */
  constructor(
    readonly step: number,
    readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  ) {
    const all = [...files].sort().map(([name, bytes]) => `${name} ${sha256Hex(bytes)}`);
    this.name = `rgx-${sha256Hex(all.join("\n")).slice(0, HASH_LENGTH)}`;
  }

  base64(): Record<string, string> {
    return Object.fromEntries(
      [...this.files].map(([name, bytes]) => [name, Buffer.from(bytes).toString("base64")]),
    );
  }

  /** Writes its folder into `parent`, once. @returns its absolute path */
  folder(parent: string): Promise<string> {
    return this.#folder ??= (async () => {
      const within = resolve(parent);
      await Deno.mkdir(within, { recursive: true });
      const path = `${within}/${this.name}`;
      await writeFolderAtomic(path, this.files);
      return path;
    })();
  }

  async removeFolder(): Promise<void> {
    if (this.#folder === null) return;
    await Deno.remove(await this.#folder, { recursive: true }).catch(() => {});
    this.#folder = null;
  }
}

/** Reads the whole content of files, for example those of a model writer. */
export async function bytesOf(
  files: ReadonlyMap<string, FileContent>,
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const out = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [name, content] of files) {
    const pieces = content instanceof Uint8Array ? [content] : content();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    // Pieces may share one buffer.
    for await (const piece of pieces) parts.push(piece.slice());
    out.set(name, await new Blob(parts).bytes());
  }
  return out;
}
