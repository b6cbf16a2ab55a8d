/**
 * What the npm package uses of Deno, on Node. The package's own modules see it as `Deno`; nothing
 * global is set. A test compares it with what these modules use.
 */
import { readFileSync } from "node:fs";
import * as fs from "node:fs/promises";
import process from "node:process";

/** Errors of Deno are recognised by the codes of Node's. */
const CODES = {
  AlreadyExists: "EEXIST",
  FilesystemLoop: "ELOOP",
  IsADirectory: "EISDIR",
  NotADirectory: "ENOTDIR",
  NotFound: "ENOENT",
  // Node has no permissions that a program could lack.
  NotCapable: "ENOTCAPABLE",
  PermissionDenied: "EACCES",
};

const errors = Object.fromEntries(
  Object.entries(CODES).map(([name, code]) => [
    name,
    class extends Error {
      static [Symbol.hasInstance](error) {
        return error?.code === code;
      }
    },
  ]),
);

function described(stats) {
  return {
    isFile: stats.isFile(),
    isDirectory: stats.isDirectory(),
    isSymlink: stats.isSymbolicLink(),
    size: stats.size,
    mtime: stats.mtime,
  };
}

/** Programs of users run in a process of Deno with few permissions. */
function needsDeno() {
  throw new Error(
    "files with code, and downloads, need rgx with Deno; this is its package for Node",
  );
}

export const Deno = {
  build: {
    os: process.platform === "win32" ? "windows" : process.platform,
    standalone: false,
  },
  pid: process.pid,
  permissions: { querySync: () => ({ state: "granted" }) },
  env: { get: (name) => process.env[name] },
  errors,
  cwd: () => process.cwd(),
  execPath: () => process.execPath,
  Command: needsDeno,
  createHttpClient: needsDeno,
  open: needsDeno,
  stat: async (path) => described(await fs.stat(path)),
  lstat: async (path) => described(await fs.lstat(path)),
  async *readDir(path) {
    for (const entry of await fs.readdir(path, { withFileTypes: true })) {
      yield { name: entry.name, ...described(entry) };
    }
  },
  readFile: (path) => fs.readFile(path),
  readTextFileSync: (path) => readFileSync(path, "utf8"),
  readLink: (path) => fs.readlink(path),
  writeTextFile: (path, text) => fs.writeFile(path, text),
  mkdir: (path, options) => fs.mkdir(path, options),
  rename: (from, to) => fs.rename(from, to),
  remove: (path, options) => fs.rm(path, options),
  copyFile: (from, to) => fs.copyFile(from, to),
  link: (from, to) => fs.link(from, to),
  symlink: (target, path) => fs.symlink(target, path),
};
