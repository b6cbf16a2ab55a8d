import assert from "node:assert/strict";
import type { LicensedPackage } from "../cli/licenses/licenses.ts";
import { rgx } from "../tests/support.ts";
import { lockedPackages } from "./licenses.ts";

Deno.test("the licences are those of the packages in deno.lock (deno task docs:licenses)", async () => {
  const { out } = await rgx(["licenses", "--json"]), parts: LicensedPackage[] = JSON.parse(out);
  const packages = parts.filter(({ sha512 }) => sha512 !== undefined);
  assert.deepEqual(
    packages.map(({ name, version, sha512 }) => ({ name, version, sha512 })),
    [...lockedPackages().values()],
  );
  assert.deepEqual(parts.filter(({ license }) => license === ""), []);
  const bill = JSON.parse((await rgx(["licenses", "--sbom"])).out);
  assert.equal(bill.components.length, packages.length + 1);
  assert.match((await rgx(["licenses", "hono"])).out, /^hono [\d.]+: MIT\n\nMIT License\n/);
  const wrong = await rgx(["licenses", "hon"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /hon: is no part/);
});
