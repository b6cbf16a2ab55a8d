/**
 * For tests of shell commands: an `rgx` whose command is run by the host of RGX_TEST_HOST
 * (`command_host.ts`). What does not end by itself, or starts ranks, needs a process of its own.
 */
import { askHost } from "./support.ts";

const input = await new Response(Deno.stdin.readable).text(), env = Deno.env.toObject();
const { code, out, err } = await askHost({ args: Deno.args, input, env, cwd: Deno.cwd() });
await new Blob([err]).stream().pipeTo(Deno.stderr.writable);
await new Blob([out]).stream().pipeTo(Deno.stdout.writable);
Deno.exit(code);
