/** Writes `report.md` and `report.html` into the folder of a run, from the files in that folder. */
import { writeFileAtomic } from "../../core/atomic_file.ts";
import { reportHtml } from "./html.ts";
import { reportMarkdown } from "./markdown.ts";
import { readRunRecord } from "./run_record.ts";

/** Paths of a report. */
export interface Report {
  /** Path of `report.md`. */
  markdown: string;
  /** Path of `report.html`. */
  html: string;
}

/**
 * Writes the report of a run; an earlier report is replaced.
 * @returns the paths
 * @throws UsageError when the folder holds no metrics of a run, RgxError when they are damaged
 */
export async function writeReport(folder: string): Promise<Report> {
  const plain = folder.replace(/(?<=.)\/+$/, ""), record = await readRunRecord(plain);
  const paths = { markdown: `${plain}/report.md`, html: `${plain}/report.html` };
  await writeFileAtomic(paths.markdown, reportMarkdown(record));
  await writeFileAtomic(paths.html, reportHtml(record));
  return paths;
}
