/** Helpers for paths. A missing file is a normal result here; all other failures are thrown. */

export function folderOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "." : path.slice(0, at) || "/";
}

/** Turns a text into a part of a file name: characters outside [A-Za-z0-9._-] become "_". */
export function fileName(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, "_");
}

/** Whether an error means that a path does not exist, or is of another kind than wanted. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.IsADirectory || error instanceof Deno.errors.FilesystemLoop;
}

async function statOrNull(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** Whether a file or folder exists; links are followed. */
export async function exists(path: string): Promise<boolean> {
  return await statOrNull(path) !== null;
}

/** Whether a path is a file; links are followed. */
export async function isFile(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isFile ?? false;
}

/** Whether a path is a folder; links are followed. */
export async function isFolder(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isDirectory ?? false;
}
