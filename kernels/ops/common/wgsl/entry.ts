/**
 * WGSL: the entry point of a kernel whose work is a list, divided among workgroups on a grid that
 * may be folded (`Dispatch.groups`).
 */
import { GROUP } from "./reduce.ts";

/**
 * The head of the entry point. The workgroup's number is `group.x + group.y * groups.x`, that of
 * the invocation within it `local`.
 */
export function entryPoint(invocations: number): string {
  return `@compute @workgroup_size(${invocations})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) local: u32) {`;
}

/** The whole entry point where each invocation does one element i < p.n; `body` is its code. */
export function perElement(body: string): string {
  return `${entryPoint(GROUP)}
  let i = (group.x + group.y * groups.x) * ${GROUP}u + local;
  if (i >= p.n) { return; }
  ${body}
}`;
}
