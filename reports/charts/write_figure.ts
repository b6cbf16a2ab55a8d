/** A figure into a file; its name's ending says which kind. What draws is loaded only then. */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { folderOf } from "../../core/paths.ts";
import type { Figure } from "./figure.ts";
import { missingCharacters } from "./font.ts";

/** Characters that a note names. */
const MOST_NAMED = 10;

/** @throws UsageError unless the name ends in .png, .svg or .html, in a folder that is there */
export function checkPicturePath(path: string): "png" | "svg" | "html" {
  const kind = /\.(png|svg|html)$/i.exec(path)?.[1]?.toLowerCase();
  if (kind !== "png" && kind !== "svg" && kind !== "html") {
    throw new UsageError(
      `cannot draw into ${path}: expected a name that ends in .png, .svg or .html`,
    );
  }
  if (isFolder(path)) throw new UsageError(`cannot draw into ${path}: it is a folder`);
  if (isFolder(folderOf(path))) return kind;
  throw new UsageError(`cannot draw into ${path}: there is no folder ${folderOf(path)}`);
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false; // there is nothing
  }
}

/**
 * @param title of the page, in HTML
 * @returns what whoever looks at it should know
 * @throws UsageError on another kind of file, RgxError when it cannot be written
 */
export async function writeFigure(path: string, figure: Figure, title: string): Promise<string[]> {
  const kind = checkPicturePath(path);
  await writeFileAtomic(path, await render(kind, figure, title));
  // Other pictures are shown with the fonts of the machine that shows them.
  const missing = kind === "png" ? missingCharacters(JSON.stringify(figure)) : [];
  if (missing.length === 0) return [];
  const some = missing.slice(0, MOST_NAMED).join(" ") + (missing.length > MOST_NAMED ? " …" : "");
  return [
    `boxes stand for characters that the font of PNGs lacks: ${some} (.svg and .html show them)`,
  ];
}

async function render(
  kind: "png" | "svg" | "html",
  figure: Figure,
  title: string,
): Promise<Uint8Array | string> {
  if (kind === "html") return (await import("./html.ts")).renderHtml(figure, title);
  const { renderPng, renderSvg } = await import("./render.ts");
  return kind === "png" ? await renderPng(figure) : await renderSvg(figure);
}
