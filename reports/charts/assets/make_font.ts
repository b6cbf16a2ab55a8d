/**
 * Makes `dejavu_sans_condensed.woff` from the npm package `dejavu-fonts-ttf` 2.37.3. It is run by
 * hand, once:
 *
 *     npm pack dejavu-fonts-ttf@2.37.3 && tar xzf dejavu-fonts-ttf-2.37.3.tgz
 *     deno run -A reports/charts/assets/make_font.ts package/ttf/DejaVuSansCondensed.ttf
 *
 * A WOFF 1.0 file contains the tables of the font, each compressed by zlib: the font is unchanged,
 * browsers read the file, and Deno's zlib can unpack it. It has half the size of the TrueType file.
 */
import { deflateSync } from "node:zlib";

const ttf = await Deno.readFile(Deno.args[0]!);
const source = new DataView(ttf.buffer, ttf.byteOffset, ttf.byteLength);
const tables = source.getUint16(4);
const HEADER = 44, ENTRY = 20;
const padded = (length: number) => (length + 3) & ~3;

const parts: Uint8Array[] = [];
let offset = HEADER + ENTRY * tables, plainSize = 12 + 16 * tables;
const directory = new DataView(new ArrayBuffer(ENTRY * tables));
for (let i = 0; i < tables; i++) {
  const entry = 12 + 16 * i;
  const [tag, checksum, at, length] = [0, 4, 8, 12].map((o) => source.getUint32(entry + o)) as [
    number,
    number,
    number,
    number,
  ];
  const plain = ttf.subarray(at, at + length), packed = deflateSync(plain, { level: 9 });
  const stored = packed.length < length ? new Uint8Array(packed) : plain;
  [tag, offset, stored.length, length, checksum].forEach((value, field) =>
    directory.setUint32(ENTRY * i + 4 * field, value)
  );
  parts.push(stored);
  offset += padded(stored.length);
  plainSize += padded(length);
}

const woff = new Uint8Array(offset);
const header = new DataView(woff.buffer);
header.setUint32(0, 0x774f4646); // "wOFF"
header.setUint32(4, source.getUint32(0));
header.setUint32(8, woff.length);
header.setUint16(12, tables);
header.setUint32(16, plainSize);
header.setUint16(20, 1);
woff.set(new Uint8Array(directory.buffer), HEADER);
let at = HEADER + ENTRY * tables;
for (const part of parts) {
  woff.set(part, at);
  at += padded(part.length);
}
await Deno.writeFile(new URL("./dejavu_sans_condensed.woff", import.meta.url), woff);
