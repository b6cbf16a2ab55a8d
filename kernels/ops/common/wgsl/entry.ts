/** WGSL: how a kernel begins whose work is a list, dealt to workgroups on a grid that may be folded (`WebgpuContext.grid`). */
import { GROUP } from "./reduce.ts";

/** The entry point's head: the workgroup's number is `group.x + group.y * groups.x`, the invocation's `local`. */
export function entryPoint(invocations: number): string {
  return `@compute @workgroup_size(${invocations})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {`;
}

/** The whole entry point over elements i < `count`, one an invocation; `body` does one. */
export function perElement(body: string, count = "p.n"): string {
  return `${entryPoint(GROUP)}
  let i = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (i >= ${count}) { return; }
  ${body}
}`;
}
