/**
 * Writes a figure to a file; the end of the file's name determines the format. The renderer is
 * loaded only when it is needed.
 */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import { folderOf } from "../../core/paths.ts";
import type { Figure } from "./style.ts";
import { missingCharacters } from "./font.ts";

/** Maximum number of characters that a note names. */
const MAX_NAMED = 10;

const KINDS = ["png", "svg", "pdf", "html"] as const;
type Kind = typeof KINDS[number];

/** @throws UsageError unless the name ends in .png, .svg, .pdf or .html, in an existing folder */
export function checkPicturePath(path: string): Kind {
  const kind = KINDS.find((kind) => path.toLowerCase().endsWith(`.${kind}`));
  if (kind === undefined) {
    throw new UsageError(
      `cannot draw into ${path}: expected a name that ends in .png, .svg, .pdf or .html`,
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
 * @param title title of the HTML page
 * @returns notes for the reader of the chart
 * @throws UsageError for another kind of file, RgxError when it cannot be written
 */
export async function writeFigure(path: string, figure: Figure, title: string): Promise<string[]> {
  const kind = checkPicturePath(path);
  await writeFileAtomic(path, await render(kind, figure, title));
  // Other kinds of pictures are shown with the fonts of the reader's machine.
  const missing = kind === "png" || kind === "pdf" ? missingCharacters(JSON.stringify(figure)) : [];
  if (missing.length === 0) return [];
  const some = missing.slice(0, MAX_NAMED).join(" ") + (missing.length > MAX_NAMED ? " …" : "");
  return [
    `boxes stand for characters that the charts' font lacks: ${some} (.svg and .html show them)`,
  ];
}

async function render(
  kind: Kind,
  figure: Figure,
  title: string,
): Promise<Uint8Array | string> {
  if (kind === "html") return (await import("./html.ts")).renderHtml(figure, title);
  const { renderPdf, renderPng, renderSvg } = await import("./render.ts");
  if (kind === "pdf") return await renderPdf(figure, title);
  return kind === "png" ? await renderPng(figure) : await renderSvg(figure);
}
