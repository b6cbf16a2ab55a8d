/** `rgx report`: writes the report of a run again and prints where it is. */
import { writeReport } from "../../reports/run_report/write_report.ts";
import { print } from "../terminal/terminal.ts";

export async function report(run: string, options: { json?: boolean }): Promise<void> {
  const written = await writeReport(run);
  print(options.json ? JSON.stringify(written) : `${written.markdown}\n${written.html}`);
}
