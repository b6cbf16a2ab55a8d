/** Paths, and what is at them: that nothing is there is an answer, everything else that goes wrong an error. */

/** The folder that a file is in. */
export function folderOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "." : path.slice(0, at) || "/";
}

/** A name as part of a file's name: characters outside [A-Za-z0-9._-] become "_". */
export function fileName(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, "_");
}

/** True for the errors by which nothing, or nothing of the wanted kind, is at a path. */
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

/** Whether a file or folder is there, also through links. */
export async function exists(path: string): Promise<boolean> {
  return await statOrNull(path) !== null;
}

/** Whether a file is there, also through links. */
export async function isFile(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isFile ?? false;
}
