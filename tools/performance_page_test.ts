import assert from "node:assert/strict";
import { withSection } from "./performance_page.ts";

const PAGE = "# Performance\n\nText.\n\n## One\n\nfirst\n\n### Below\n\nmore\n\n## Two\n\nsecond\n";

Deno.test("a new section of the page becomes the second one", () => {
  assert.equal(
    withSection(PAGE, "New", "some\n"),
    "# Performance\n\nText.\n\n## One\n\nfirst\n\n### Below\n\nmore\n\n" +
      "## New\n\nsome\n\n## Two\n\nsecond\n",
  );
});

Deno.test("an existing section is replaced in its place, also the last one", () => {
  assert.equal(
    withSection(PAGE, "One", "other"),
    "# Performance\n\nText.\n\n## One\n\nother\n\n## Two\n\nsecond\n",
  );
  assert.ok(withSection(PAGE, "Two", "last").trimEnd().endsWith("## Two\n\nlast"));
  assert.ok(withSection("# Empty\n", "Only", "x").startsWith("# Empty\n\n## Only\n\nx"));
});

Deno.test("the sections of one kind stay beside each other", () => {
  let page = withSection(PAGE, "Card: A", "a");
  page = withSection(page, "Other: A", "b");
  page = withSection(page, "Card: B", "c");
  const titles = [...page.matchAll(/^## (.*)$/gm)].map(([, name]) => name);
  assert.deepEqual(titles, ["One", "Other: A", "Card: A", "Card: B", "Two"]);
});
