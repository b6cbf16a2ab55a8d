/** Responses of a Hub, a mirror or a proxy: no repository, no access, web pages, redirects. */
import assert from "node:assert/strict";
import { exists } from "../core/paths.ts";
import {
  COMMIT,
  failure,
  get,
  modelFiles,
  places,
  refused,
  type Seen,
  settingsFor,
  TAG,
  tagOf,
  test,
  TOKEN,
  WEIGHTS,
} from "./testing.ts";

test.inHub("errors for a missing, private or gated repository and for a refused token", async (hub) => {
  const withToken = { settings: settingsFor(hub, { token: TOKEN }) };
  const none = await failure(get(hub, withToken));
  assert.match(
    none,
    /^2 org\/tiny: there is no such model on http.* \(404\)\n.*--dataset org\/tiny/,
  );
  const unknown = await failure(get(hub));
  assert.match(unknown, /^1 org\/tiny: not there, private or gated \(401, no token was sent\)/);
  assert.match(unknown, /\nCheck the name on http.*\/org\/tiny.*HF_TOKEN/);

  hub.add("models/org/tiny", modelFiles(WEIGHTS), { gated: true });
  const gated = await failure(get(hub));
  assert.match(gated, /access is gated.*\(401\), and no token was sent\n/);
  assert.ok(gated.includes(`Accept the conditions on ${hub.url}/org/tiny. Make a token on `));
  assert.match(gated, /set HF_TOKEN to it \(or write it to .*huggingface\/token\)/);
  const other = { settings: settingsFor(hub, { token: "hf_other" }) };
  const notYet = await failure(get(hub, other));
  assert.match(notYet, /access is gated.*\(403\)\n.*The token of HF_TOKEN or .* was sent/);
  assert.ok(!notYet.includes("hf_other"), "a token is never shown");

  hub.misbehave = () => refused(401, "", "Invalid credentials in Authorization header");
  assert.match(await failure(get(hub, other)), /the token is refused \(401\)/);
  assert.equal(await exists(`${hub.cache}/models--org--tiny`), false);
});

test.withTiny("a proxy's page, another commit or a missing checksum is refused", async (hub) => {
  const pages: [RegExp, (seen: Seen) => Response | null][] = [
    [/no list of a repository's files\nIs it a Hub\?/, () => new Response("<html>Log in</html>")],
    [/no list of a repository's files/, () => Response.json({ sha: "main", siblings: [] })],
    [/holds a file without a name/, () => Response.json({ sha: COMMIT, siblings: [{}] })],
    [
      /has another commit than asked for, or none/,
      ({ method }) => method === "HEAD" ? new Response(null, { headers: { etag: '"a"' } }) : null,
    ],
    [
      /has no entity tag/,
      ({ method }) => method === "HEAD" ? new Response(null) : null,
    ],
    [
      /names two checksums for one file/,
      ({ method, path }) =>
        method === "HEAD" && path.endsWith("model.safetensors")
          ? new Response(null, {
            headers: { etag: `"${"a".repeat(64)}"`, "x-repo-commit": COMMIT },
          })
          : null,
    ],
  ];
  for (const [message, answer] of pages) {
    hub.misbehave = answer;
    assert.match(await failure(get(hub)), message);
  }
});

test.withTiny("mirrors without HEAD, or without the commit in the headers, can be used", async (hub) => {
  hub.misbehave = ({ method }) => method === "HEAD" ? new Response(null, { status: 405 }) : null;
  await get(hub);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
  await Deno.remove(hub.cache, { recursive: true });
  hub.misbehave = ({ method, path }) =>
    method === "HEAD" && path.endsWith("model.safetensors")
      ? new Response(null, { headers: { etag: `W/"${TAG}"`, "content-length": "300000" } })
      : null;
  await get(hub);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
});

test.withTiny("circular redirects and redirects to unsafe protocols are refused", async (hub) => {
  const to = (location: string) => () => new Response(null, { status: 302, headers: { location } });
  hub.misbehave = ({ path }) => to(path)();
  assert.match(await failure(get(hub)), /redirects without end/);
  hub.misbehave = to("file:///etc/passwd");
  assert.match(await failure(get(hub)), /redirects to file:, which is not followed/);
  // A renamed repository redirects to its new address.
  hub.misbehave = ({ path }) =>
    path.includes("org/tiny") ? to(path.replace("org/tiny", "new/tiny"))() : null;
  hub.add("models/new/tiny", modelFiles(WEIGHTS));
  await get(hub);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
});

test.inHub("a simple server may redirect to itself and answer HEAD with a length of 0", async (hub) => {
  const files = modelFiles(WEIGHTS);
  hub.add("models/org/tiny", files);
  hub.listing = ({ commit }) => ({
    sha: commit,
    siblings: files.map(({ name }) => ({ rfilename: name })),
  });
  hub.misbehave = ({ server, method, path }) => {
    if (path.startsWith("/store/")) return new Response(WEIGHTS);
    const name = path.split("/").at(-1)!, found = files.find((file) => file.name === name);
    if (server !== "hub" || found === undefined) return null;
    const tag = `"${tagOf(found)}"`, said = { "x-repo-commit": COMMIT };
    if (!found.lfs) {
      return new Response(method === "HEAD" ? null : found.bytes, {
        headers: { ...said, etag: tag },
      });
    }
    return new Response(null, {
      status: 302,
      headers: { ...said, "x-linked-etag": tag, location: `${hub.url}/store/${name}` },
    });
  };
  await get(hub);
  assert.deepEqual(await Deno.readFile(places(hub).weights), WEIGHTS);
});
