/** The result of a pull: the revision, its files and where they are. */
import type { RepositoryKind } from "./repository.ts";

/** A file in the cache. */
export interface PulledFile {
  /** Its path in the repository. */
  name: string;
  /** Where it is on this machine. */
  path: string;
  /** In bytes; null = the server does not report it, and the file was not fetched. */
  size: number | null;
  /** Whether the file was in the snapshot before the pull. */
  cached: boolean;
}

/** What a pull found and fetched. */
export interface Pulled {
  /** `org/name`. */
  repository: string;
  /** What the repository holds. */
  kind: RepositoryKind;
  /** The branch, tag or commit that was asked for. */
  revision: string;
  /** The commit that the revision names. */
  commit: string;
  /** Folder of the snapshot. */
  path: string;
  /** The files that were chosen. */
  files: PulledFile[];
  /** Total size of all files. */
  bytes: number;
  /** Bytes that came over the network. */
  downloaded_bytes: number;
  /** How long it took. */
  seconds: number;
  /** Whether the cache alone was read, since connections are forbidden. */
  offline: boolean;
}
