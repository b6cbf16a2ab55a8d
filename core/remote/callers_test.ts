import assert from "node:assert/strict";
import { callerMistake } from "./callers.ts";

const LOCAL = { hostname: "127.0.0.1", cors: null };

Deno.test("programs and the server's own pages may call, whatever name of this machine they use", () => {
  for (const host of ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.1.2.3"]) {
    assert.equal(callerMistake(new Headers({ host }), LOCAL), null, host);
    const own = new Headers({ host, origin: `http://${host}` });
    assert.equal(callerMistake(own, LOCAL), null, host);
  }
});

Deno.test("pages of other origins may not call, unless they are named", () => {
  for (const origin of ["http://evil.example", "null", "http://localhost:9000", "http://[x"]) {
    const headers = new Headers({ host: "localhost:8000", origin });
    assert.match(callerMistake(headers, LOCAL)!, /may not call this server: --cors ORIGIN/);
    assert.match(
      callerMistake(headers, { hostname: "0.0.0.0", cors: "http://a" })!,
      /may not call/,
    );
    assert.equal(callerMistake(headers, { ...LOCAL, cors: origin }), null);
    assert.equal(callerMistake(headers, { ...LOCAL, cors: "*" }), null);
  }
});

Deno.test("on loopback, names that others have chosen are refused", () => {
  for (
    const host of ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1:80"]
  ) {
    for (const cors of [null, "*"]) {
      assert.match(
        callerMistake(new Headers({ host }), { ...LOCAL, cors })!,
        /in Host is no name of/,
      );
    }
    assert.equal(callerMistake(new Headers({ host }), { hostname: "0.0.0.0", cors: null }), null);
  }
});
