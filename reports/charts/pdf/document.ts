/** A PDF file of one page (ISO 32000-1): its objects, their order in the file, and the page. */
import { Buffer } from "node:buffer";
import { deflateSync } from "node:zlib";

/** Reference to an object, as it is written: "3 0 R". */
export type Reference = string;

export class PdfDocument {
  readonly #objects: Uint8Array[] = [];

  /** Adds a dictionary or another value, as text. */
  add(value: string): Reference {
    return this.#push([encode(value)]);
  }

  /** Adds a stream, compressed. @param entries further entries of its dictionary */
  stream(bytes: Uint8Array | string, entries = ""): Reference {
    const packed = deflateSync(typeof bytes === "string" ? encode(bytes) : bytes, { level: 9 });
    const head = `<< /Length ${packed.length} /Filter /FlateDecode ${entries} >>\nstream\n`;
    return this.#push([encode(head), packed, encode("\nendstream")]);
  }

  /**
   * The bytes of the file.
   * @param size width and height of the page in points
   * @param content reference of the page's content
   * @param resources the dictionary of its resources
   */
  finish(
    size: readonly [width: number, height: number],
    content: Reference,
    resources: string,
    title: string,
  ): Uint8Array<ArrayBuffer> {
    const pages = this.#objects.length + 2;
    const page = this.add(
      `<< /Type /Page /Parent ${pages} 0 R /MediaBox [0 0 ${size.map(number).join(" ")}] ` +
        `/Contents ${content} /Resources ${resources} >>`,
    );
    this.add(`<< /Type /Pages /Kids [${page}] /Count 1 >>`);
    const root = this.add(`<< /Type /Catalog /Pages ${pages} 0 R >>`);
    const info = this.add(`<< /Title ${unicode(title)} /Producer (rgx) >>`);

    // The second line says that the file has bytes above 127.
    const parts: Uint8Array[] = [
      Uint8Array.of(...encode("%PDF-1.7\n%"), 0xe2, 0xe3, 0xcf, 0xd3, 10),
    ];
    const offsets: number[] = [];
    let length = parts[0]!.length;
    for (const object of this.#objects) {
      offsets.push(length);
      parts.push(object);
      length += object.length;
    }
    const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
    const count = offsets.length + 1;
    parts.push(encode(
      `xref\n0 ${count}\n0000000000 65535 f \n${table.join("")}` +
        `trailer\n<< /Size ${count} /Root ${root} /Info ${info} >>\nstartxref\n${length}\n%%EOF\n`,
    ));
    return new Uint8Array(Buffer.concat(parts));
  }

  #push(parts: Uint8Array[]): Reference {
    const id = this.#objects.length + 1;
    this.#objects.push(
      Buffer.concat([encode(`${id} 0 obj\n`), ...parts, encode("\nendobj\n")]),
    );
    return `${id} 0 R`;
  }
}

const encode = (text: string) => new TextEncoder().encode(text);

/** A number without an exponent, which PDF does not have. */
export function number(value: number): string {
  return String(Number(value.toFixed(4)));
}

/** A text as UTF-16 in hexadecimal digits. */
function unicode(text: string): string {
  return `<feff${utf16(text)}>`;
}

/** UTF-16 code units in hexadecimal digits. */
export function utf16(text: string): string {
  return Array.from(
    { length: text.length },
    (_, i) => text.charCodeAt(i).toString(16).padStart(4, "0"),
  ).join("");
}
