/** The tasks that are known by their names, with the built-in ones. */
import { BUILT_IN } from "./all.ts";
import { tasks } from "./registered.ts";

export * from "./registered.ts";

// Built-in tasks are not checked at run time, which would cost every command some milliseconds. A
// test checks them with the rules of `registerTask`.
for (const task of BUILT_IN) tasks.set(task.name, task);
