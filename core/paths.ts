/** What is at a path: that nothing is there is an answer, everything else that goes wrong an error. */

/** True for the errors by which nothing, or nothing of the wanted kind, is at a path. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.IsADirectory;
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
