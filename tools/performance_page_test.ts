import assert from "node:assert/strict";
import { sectionOf, withSection } from "./performance_page.ts";

const PAGE = "# Performance\n\nText.\n\n## One\n\nfirst\n\n### Below\n\nmore\n\n## Two\n\nsecond\n";

Deno.test("a new section of the page becomes the second one, and is found again", () => {
  const page = withSection(PAGE, "New", "some\n");
  assert.equal(
    page,
    "# Performance\n\nText.\n\n## One\n\nfirst\n\n### Below\n\nmore\n\n" +
      "## New\n\nsome\n\n## Two\n\nsecond\n",
  );
  assert.equal(sectionOf(page, "New"), "some");
  assert.equal(sectionOf(PAGE, "New"), null);
  assert.equal(sectionOf(PAGE, "Below"), null);
});

Deno.test("an existing section is replaced in its place, also the last one", () => {
  assert.equal(
    withSection(PAGE, "One", "other"),
    "# Performance\n\nText.\n\n## One\n\nother\n\n## Two\n\nsecond\n",
  );
  assert.ok(withSection(PAGE, "Two", "last").trimEnd().endsWith("## Two\n\nlast"));
  assert.ok(withSection("# Empty\n", "Only", "x").startsWith("# Empty\n\n## Only\n\nx"));
});
