/** A table of a report. */
export interface Table {
  /** The first row is the heading; the first column is text, all others numbers. */
  rows: string[][];
}
