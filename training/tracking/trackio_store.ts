/** What trackio keeps of a run, and the two stores that it reads: a database or an inbox. */

export interface TrackioRecord {
  kind: "metric" | "alert";
  step: number;
  /** ISO 8601. */
  timestamp: string;
  /** A hash of the content: the same whenever the same point or alert is logged again. */
  logId: string;
  /** Of a metric. */
  metrics?: Readonly<Record<string, number>>;
  /** Of an alert. */
  title?: string;
  /** Of an alert. */
  text?: string;
}

export interface TrackioStore {
  /** The path of the store, for people. */
  readonly place: string;
  write(record: TrackioRecord): void;
  close(): void;
}
