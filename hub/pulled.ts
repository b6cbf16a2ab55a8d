/** The result of a pull: the revision, its files and where they are. */
import type { RepositoryKind } from "./repository.ts";

/** A file in the cache. */
export interface PulledFile {
  name: string;
  path: string;
  /** In bytes; null = the server does not report it, and the file was not fetched. */
  size: number | null;
  /** Whether the file was in the snapshot before the pull. */
  cached: boolean;
}

/** What a pull found and fetched. */
export interface Pulled {
  repository: string;
  kind: RepositoryKind;
  revision: string;
  commit: string;
  /** Folder of the snapshot. */
  path: string;
  files: PulledFile[];
  /** Total size of all files. */
  bytes: number;
  downloaded_bytes: number;
  seconds: number;
  offline: boolean;
}
