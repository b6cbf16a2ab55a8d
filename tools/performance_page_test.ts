import assert from "node:assert/strict";
import { keepSections, sectionOf, SECTIONS, withSection } from "./performance_page.ts";

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

Deno.test("the tables of each processor stay beside each other", () => {
  const title = (processor: string) => `${SECTIONS.peers}: ${processor}`;
  let page = withSection(PAGE, title("AMD"), "a");
  page = withSection(page, `${SECTIONS.steady}: AMD`, "b");
  page = withSection(page, title("Intel"), "c");
  const order = ["One", title("AMD"), title("Intel"), `${SECTIONS.steady}: AMD`, "Two"];
  const titles = (text: string) => [...text.matchAll(/^## (.*)$/gm)].map(([, name]) => name);
  // The section that came last was put second, and Intel's beside AMD's.
  assert.deepEqual(titles(page).toSorted(), order.toSorted());
  assert.equal(titles(page).indexOf(title("Intel")), titles(page).indexOf(title("AMD")) + 1);
  // Measured on one processor again, the table of the other stays.
  page = withSection(page, title("Intel"), "d");
  assert.equal(sectionOf(page, title("AMD")), "a");
  assert.equal(sectionOf(page, title("Intel")), "d");
  // A new page keeps what other programs have written, and nothing else.
  const kept = keepSections("# Performance\n\n## One\n\nnew\n\n## Three\n\nnew\n", page);
  assert.deepEqual(titles(kept).toSorted(), [...order.slice(0, 4), "Three"].toSorted());
  assert.equal(sectionOf(kept, "One"), "new");
  assert.equal(sectionOf(kept, title("AMD")), "a");
});
