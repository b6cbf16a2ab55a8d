/** The subjects of commits: what changed, as a verb in the imperative and its object. */
import assert from "node:assert/strict";
import { needs } from "../skipped.ts";

/** The rule is younger than the project. */
const SINCE = "2026-11-28T17:30:00Z";

const MAX_LENGTH = 72;

/** The verbs that subjects may begin with. Another one that says what changed may be added. */
const VERBS = new Set(
  `Accept Add Align Allow Apply Ask Avoid Begin Bound Break Build Call Cap Change Check Choose Clean Clear
   Close Compare Compile Compute Copy Correct Count Cover Create Cut Declare Decode Delete Derive Describe Divide
   Document Draw Drop Embed Encode End Escape Explain Export Fetch Fill Find Finish Fit Fix Flush
   Fold Follow Format Free Fuse Generate Give Group Handle Hide Hold Ignore Implement Import
   Improve Infer Inline Install Join Keep Label Lay Leave Let Limit List Load Lock Log Look Make Map Mark
   Match Measure Mend Mention Merge Move Name Narrow Note Obey Offer Omit Open Order Pack Parse Pass
   Pin Place Plan Point Prefer Prepare Print Prove Publish Put Quote Raise Rank Read Rebuild Record
   Recover Reduce Refuse Regenerate Reject Release Remove Rename Render Repair Repeat Replace Report
   Require Reset Resolve Restore Resume Retry Return Reuse Revert Rewrite Round Run Save Say Score
   Search Select Send Separate Serve Set Share Shorten Show Simplify Skip Sort Speed Split Start
   State Stop Store Stream Strip Sum Support Take Teach Tell Test Tie Time Treat Trim Try Tune Turn
   Unify Update Upload Use Validate Verify Wait Warn Widen Word Wrap Write`.split(/\s+/),
);

/** What is wrong with a subject; null: nothing. */
function fault(subject: string): string | null {
  const [verb, ...object] = subject.split(" ");
  if (subject.length > MAX_LENGTH) return `${subject.length} characters, at most ${MAX_LENGTH}`;
  if (subject.includes(";")) return "a semicolon joins two changes: make two commits";
  if (!VERBS.has(verb!)) return `"${verb}" is none of the verbs in ${import.meta.filename}`;
  return object.length === 0 ? "what was changed?" : null;
}

/** The subjects since the rule; null where there is no history. */
function subjects(): string[] | null {
  const args = ["log", "--no-merges", `--since=${SINCE}`, "--format=%s"];
  try {
    const { success, stdout } = new Deno.Command("git", {
      args,
      cwd: import.meta.dirname!,
      stderr: "null",
    }).outputSync();
    return success
      ? new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "")
      : null;
  } catch {
    return null; // no git
  }
}

const since = subjects();

Deno.test({
  name: "the subject of a commit is a verb in the imperative and its object",
  ignore: needs(since !== null, "there is no history of commits"),
  fn() {
    const faults = since!.map((subject) => [subject, fault(subject)]).filter(([, wrong]) => wrong);
    assert.deepEqual(faults, []);
  },
});

Deno.test("subjects that state a condition, join two changes or are long are faults", () => {
  assert.equal(fault("Read only the data files that were named"), null);
  for (
    const subject of [
      "An abandoned lock is taken over by one process only",
      "Where nothing was asked, charts say so",
      "Add a key; remove another",
      "Format",
      `Read ${"very ".repeat(20)}long files`,
    ]
  ) assert.notEqual(fault(subject), null, subject);
});
