/**
 * For tests: lets the small Hub take uploads. It speaks the commit API with LFS as the real one
 * does, and checks every byte against its checksum.
 */
import { sha256Hex } from "../../core/checksums.ts";
import { type FakeHub, gitSha1, refused, tagOf, TOKEN } from "../testing.ts";

export interface Received {
  /** Bodies of requests to make a repository. */
  created: Record<string, unknown>[];
  /** Headers of commits. */
  commits: { summary: string; description: string; revision: string; files: string[] }[];
  /** Sums of objects whose bytes were sent, in order; parts count once each. */
  sent: string[];
  branches: string[];
}

export interface Acceptance {
  /** Size of a part; files that are larger are sent in parts. Default: no parts. */
  chunk?: number;
  /** Refuses an object of LFS. */
  refuse?: (size: number) => { code: number; message: string } | null;
}

const USER = "somebody";

/** Makes the Hub take uploads of {@link USER} with the token of the tests. */
export function acceptUploads(hub: FakeHub, options: Acceptance = {}): Received {
  const received: Received = { created: [], commits: [], sent: [], branches: [] };
  const objects = new Map<string, Uint8Array<ArrayBuffer>>();
  const parts = new Map<string, Uint8Array<ArrayBuffer>>();
  hub.other = async (request) => {
    const url = new URL(request.url), { pathname: path } = url, { method } = request;
    const isWrite = method === "POST" || method === "PUT";
    const isWhoami = path === "/api/whoami-v2";
    if (!isWrite && !isWhoami && !/^\/api\/models\/[^/]+\/[^/]+$/.test(path)) return null;
    // Signed addresses carry their right to write; they get no token.
    const stored = /^\/store\/([0-9a-f]{64})(?:\/(\d+))?$/.exec(path);
    if (stored !== null) return await store(request, stored[1]!, stored[2]);
    if (request.headers.get("authorization") !== `Bearer ${TOKEN}`) {
      return refused(401, "", "Invalid credentials in Authorization header");
    }
    if (isWhoami) return Response.json({ name: USER, type: "user" });
    if (path === "/api/repos/create") return create(await request.json());
    const api = /^\/api\/models\/([^/]+\/[^/]+)(?:\/(\w+)\/([^/]+))?$/.exec(path);
    const batch = /^\/([^/]+\/[^/]+)\.git\/info\/lfs\/objects\/(batch|verify|complete)$/.exec(path);
    const name = api?.[1] ?? batch?.[1] ?? "", repository = hub.repositories.get(`models/${name}`);
    if (repository === undefined) return refused(404, "RepoNotFound", "Repository not found");
    if (batch !== null) return lfs(name, batch[2]!, await request.json());
    const revision = decodeURIComponent(api?.[3] ?? "main");
    if (api?.[2] === "branch") {
      if (repository.revisions.includes(revision)) return refused(409, "", "it exists");
      repository.revisions.push(revision);
      received.branches.push(revision);
      return Response.json({});
    }
    if (api?.[2] === "preupload") return preupload(repository.files, await request.json());
    if (api?.[2] === "commit") return commit(name, revision, await request.text());
    return Response.json({ id: name });
  };
  return received;

  function create(body: Record<string, unknown>): Response {
    received.created.push(body);
    const { organization, name } = body as { organization: string; name: string };
    if (organization !== USER && organization !== "org") {
      return refused(403, "", `You don't have the rights to create a model under ${organization}`);
    }
    const whole = `${organization}/${name}`;
    const isTaken = ["models", "datasets", "spaces"].some((kind) =>
      hub.repositories.has(`${kind}/${whole}`)
    );
    if (isTaken) return refused(409, "", "You already created this repo");
    hub.add(`models/${whole}`, [], { private: body["private"] === true });
    return Response.json({ url: `${hub.url}/${whole}` });
  }

  function preupload(
    files: readonly { name: string; bytes: Uint8Array<ArrayBuffer>; lfs: boolean }[],
    body: { files: { path: string; size: number; sample: string }[] },
  ): Response {
    return Response.json({
      files: body.files.map(({ path, size, sample }) => {
        const isBinary = Uint8Array.fromBase64(sample).includes(0);
        const isLarge = isBinary || size > 1e6 || /\.(safetensors|png)$/.test(path);
        const known = files.find(({ name }) => name === path);
        return {
          path,
          uploadMode: isLarge ? "lfs" : "regular",
          shouldIgnore: false,
          ...(known === undefined ? {} : { oid: tagOf(known) }),
        };
      }),
    });
  }

  function lfs(name: string, what: string, body: Record<string, unknown>): Response {
    if (what === "verify") {
      const { oid, size } = body as { oid: string; size: number };
      return objects.get(oid)?.length === size ? Response.json({}) : refused(404, "", "not here");
    }
    if (what === "complete") {
      const { oid, parts: list } = body as { oid: string; parts: { partNumber: number }[] };
      const pieces = list.map(({ partNumber }) => parts.get(`${oid}/${partNumber}`)!);
      return keep(oid, new Uint8Array(pieces.flatMap((piece) => [...piece])));
    }
    const asked = body["objects"] as { oid: string; size: number }[];
    return Response.json({
      transfer: options.chunk === undefined ? "basic" : "multipart",
      objects: asked.map(({ oid, size }) => {
        const error = options.refuse?.(size) ?? null;
        if (error !== null) return { oid, size, error };
        if (objects.has(oid)) return { oid, size };
        const href = `${hub.contentUrl}/store/${oid}`;
        const base = `${hub.url}/${name}.git/info/lfs/objects`;
        const { chunk } = options;
        if (chunk === undefined || size <= chunk) {
          return { oid, size, actions: { upload: { href }, verify: { href: `${base}/verify` } } };
        }
        const header: Record<string, string> = { chunk_size: String(chunk) };
        for (let n = 1; n <= Math.ceil(size / chunk); n++) {
          header[String(n).padStart(5, "0")] = `${href}/${n}`;
        }
        return { oid, size, actions: { upload: { href: `${base}/complete`, header } } };
      }),
    });
  }

  async function store(request: Request, oid: string, part?: string): Promise<Response> {
    if (request.headers.has("authorization")) return refused(400, "", "a token was sent");
    const bytes = new Uint8Array(await request.arrayBuffer());
    received.sent.push(part === undefined ? oid : `${oid}/${part}`);
    if (part === undefined) return keep(oid, bytes);
    parts.set(`${oid}/${part}`, bytes);
    return new Response(null, { headers: { etag: `"${part}"` } });
  }

  function keep(oid: string, bytes: Uint8Array<ArrayBuffer>): Response {
    if (sha256Hex(bytes) !== oid) return refused(400, "", "the checksum is wrong");
    objects.set(oid, bytes);
    return new Response(null, { headers: { etag: `"${oid}"` } });
  }

  function commit(name: string, revision: string, body: string): Response {
    const repository = hub.repositories.get(`models/${name}`)!;
    if (!repository.revisions.includes(revision)) return refused(404, "RevisionNotFound", revision);
    const lines = body.trimEnd().split("\n").map((line) => JSON.parse(line));
    const [header, ...operations] = lines;
    const files = new Map(repository.files.map((file) => [file.name, file]));
    for (const { key, value } of operations) {
      const isLarge = key === "lfsFile";
      const bytes = isLarge ? objects.get(value.oid) : Uint8Array.fromBase64(value.content);
      if (bytes === undefined || isLarge && bytes.length !== value.size) {
        return refused(400, "", `${value.path}: its object was not uploaded`);
      }
      files.set(value.path, { name: value.path, bytes, lfs: isLarge });
    }
    repository.files = [...files.values()];
    repository.commit = gitSha1(new TextEncoder().encode(body));
    received.commits.push({
      ...header.value,
      revision,
      files: operations.map(({ value }) => value.path),
    });
    return Response.json({
      commitUrl: `${hub.url}/${name}/commit/${repository.commit}`,
      commitOid: repository.commit,
    });
  }
}
