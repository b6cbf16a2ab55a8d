/**
 * The dashboard and the report in a real browser: every view without a finding of axe, in light in
 * wide windows and in dark on a phone; with the keyboard alone; live. RGX_TEST_SCREENSHOTS names a
 * folder for pictures of it.
 */
import assert from "node:assert/strict";
import axe from "axe-core/axe.min.js" with { type: "text" };
import { chromium, type Page } from "playwright-core";
import { NEEDED, needs } from "../../tests/skipped.ts";
import { writeReport } from "../run_report/write_report.ts";
import { metricsLine, withDashboard, writeCompletions, writeResults, writeRun } from "./testing.ts";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
  .find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
const VIEWS = ["runs", "curves", "completions", "compare", "benchmarks"];

const write = async (folder: string) => {
  await writeRun(`${folder}/one`, 40);
  await writeRun(`${folder}/two`, 60, { "run.json": '{"status": "runn' });
  for (const step of [1, 2]) await writeCompletions(`${folder}/one`, step);
  await writeResults(`${folder}/results`);
};

/** Opens a view and waits until it has its contents. */
async function open(page: Page, view: string): Promise<void> {
  const contents: Record<string, string> = {
    runs: "tbody tr",
    curves: ".plot canvas",
    completions: "article",
    compare: "tbody tr",
    benchmarks: "[data-problem]",
    run: ".story",
    start: "tbody tr",
  };
  await page.evaluate((hash) => location.hash = hash, `#/${view}`);
  await page.waitForSelector(contents[view.split("?")[0]!]!);
}

/** The findings of axe, one line each. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    // deno-lint-ignore no-explicit-any
    return violations.map((found: any) => `${found.id}: ${found.nodes[0].html}`);
  });
}

/** What is looked at: the width of the window, its theme, and whether axe looks too. */
const SCREENS = [
  ["light", 1280, "light", true],
  ["wide", 1920, "light", false],
  ["phone", 390, "light", false],
  ["dark phone", 390, "dark", true],
] as const;

/** Words that a line break has cut: letters and digits of one word that are on two lines. */
function cutWords(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const cut: string[] = [], range = document.createRange();
    for (const element of document.querySelectorAll("h1,h2,h3,th,a,label,button,dt,option,.note")) {
      for (const node of element.childNodes) {
        if (!(node instanceof Text)) continue;
        for (const { index, 0: word } of node.data.matchAll(/[\p{L}\d]{2,30}/gu)) {
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
          if (tops.size > 1) cut.push(`${word} in ${node.data.trim()}`);
        }
      }
    }
    return cut;
  });
}

/** Looks at what a page shows now, on all screens. */
async function onAllScreens(page: Page, name: string): Promise<void> {
  for (const [kind, width, colorScheme, isWithAxe] of SCREENS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(() => new Promise((done) => setTimeout(done, 60)));
    if (isWithAxe) assert.deepEqual(await findings(page), [], `${kind} ${name}`);
    // Charts are drawn again soon after a change of the window.
    const fits = page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(await fits.then(() => true, () => false), `${kind} ${name} is too wide`);
    assert.deepEqual(await cutWords(page), [], `${kind} ${name}`);
    const hidden = name !== "runs" ? 0 : await page.evaluate(() => {
      const table = document.querySelector(".wide")!;
      return table.scrollWidth - table.clientWidth;
    });
    assert.ok(hidden <= 0, `${kind}: ${hidden} pixels of the runs are cut off`);
    const folder = Deno.env.get("RGX_TEST_SCREENSHOTS");
    if (folder) await page.screenshot({ path: `${folder}/${kind}_${name}.png` });
  }
}

async function everyView(page: Page, url: string): Promise<void> {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  await page.waitForSelector("tbody tr");
  const [one, two] = await page.$$eval(
    "tbody tr",
    (rows) => rows.map((row) => row.getAttribute("data-run")),
  );
  const views = [...VIEWS, "start", `run?run=${one}`, `compare?first=${one}&second=${two}`];
  for (const view of views) {
    await open(page, view);
    await onAllScreens(page, view.split("?")[0]!);
  }
  assert.deepEqual(errors, []);
}

async function theReport(page: Page, _: string, folder: string): Promise<void> {
  const { html } = await writeReport(`${folder}/one`);
  // Its figure brings 1.5 MB of Plotly, which take long on a busy machine.
  await page.goto(`file://${html}`, { waitUntil: "commit", timeout: 120_000 });
  await page.waitForSelector(".main-svg");
  await onAllScreens(page, "report");
}

async function keyboardAlone(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.waitForSelector("tbody tr");
  const press = async (key: string, until: () => Promise<boolean>) => {
    for (let i = 0; i < 60 && !await until(); i++) await page.keyboard.press(key);
    assert.ok(await until(), `${key} does not lead there`);
  };
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  const isIn = (selector: string) =>
    page.evaluate((one) => document.activeElement?.matches(one) ?? false, selector);
  await press("Tab", async () => await focused() === "Curves");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".plot canvas");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  await press("Tab", () => isIn(".plot"));
  await page.keyboard.press("Home");
  const reading = () =>
    page.evaluate(() =>
      (document.activeElement?.parentElement?.querySelector(".reading")?.textContent ?? "")
        .replaceAll(/\s+/g, " ")
    );
  assert.match(await reading(), /^step 1: one 0\.01 \(smoothed 0\.01\) two /);
  // Each name has its line beside it.
  const keys = await page.evaluate(() =>
    document.activeElement?.parentElement?.querySelectorAll(".reading .key .swatch line").length
  );
  assert.equal(keys, 2);
  await page.keyboard.press("ArrowRight");
  assert.match(await reading(), /^step 2: /);
  await page.keyboard.press("End");
  assert.match(await reading(), /^step 60: /);
  // Two runs are chosen with the space bar and compared.
  await page.evaluate(() => location.hash = "#/runs");
  await page.waitForSelector("tbody tr");
  for (const label of ["choose one", "choose two"]) {
    await press("Tab", () => isIn(`[aria-label="${label}"]`));
    await page.keyboard.press("Space");
  }
  await press("Shift+Tab", async () => await focused() === "Compare two");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:has-text('Configurations')");
  await page.waitForFunction(() => /training\.seed/.test(document.body.textContent ?? ""));
}

async function live(page: Page, url: string, folder: string): Promise<void> {
  await page.goto(`${url}#/curves`);
  await page.waitForSelector(".plot canvas");
  const shows = (text: string) =>
    page.waitForFunction((wanted) => document.body.textContent?.includes(wanted), text);
  await page.waitForFunction(() => document.querySelector("#live")?.textContent === "● live");
  const more = Array.from({ length: 20 }, (_, i) => metricsLine(61 + i, 7.125)).join("");
  await Deno.writeTextFile(`${folder}/two/metrics.jsonl`, more, { append: true });
  // Smoothed, the newest reward is now close to the new values.
  await page.waitForFunction(() =>
    /two\s+7\.1/.test(document.querySelector(".chart .reading")?.textContent ?? "")
  );
  await page.evaluate(() => location.hash = "#/runs");
  await writeRun(`${folder}/new run`, 3);
  await shows("new run");
  await shows("two/run.json is damaged or half-written");
}

async function filters(page: Page, url: string): Promise<void> {
  await page.goto(`${url}#/completions`);
  await page.waitForSelector("article");
  const rows = (count: number) =>
    page.waitForFunction(
      (wanted) => document.querySelectorAll("[data-row]").length === wanted,
      count,
    );
  await rows(8);
  // This run has no model that could read a completion again; the row says so.
  await page.locator(".tokens-button").first().click();
  await page.waitForSelector("td .problems");
  await page.locator("[aria-expanded=true]").click();
  await page.waitForSelector("td .problems", { state: "detached" });
  await page.getByLabel("Answer").selectOption("none");
  await rows(4);
  await page.getByLabel("Completion contains").fill("BOLD");
  await rows(2);
  // A text of a model is shown and never interpreted.
  assert.equal(await page.locator("article b").count(), 0);
  assert.equal(await page.locator("article mark").count(), 2);
  await page.goto(`${url}#/benchmarks`);
  await page.waitForSelector("[data-problem]");
  await page.getByLabel("Model").selectOption("first");
  await page.getByLabel("Outcome").selectOption("wrong");
  await page.waitForFunction(() => document.querySelectorAll("[data-problem]").length === 3);
}

Deno.test({
  name: "the dashboard in Chromium: accessible, by keyboard, live, filtered",
  ignore: needs(CHROMIUM !== undefined, NEEDED.chromium),
  async fn(t) {
    const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ["--no-sandbox"] });
    try {
      const steps: [string, (page: Page, url: string, folder: string) => Promise<void>][] = [
        ["every view passes axe, fits every screen and cuts no word", everyView],
        ["the report does, too", theReport],
        ["everything can be done with the keyboard", keyboardAlone],
        ["new steps and new runs appear by themselves", live],
        ["completions and problems are filtered", filters],
      ];
      for (const [name, run] of steps) {
        await t.step(name, () =>
          withDashboard(write, async ({ url }, folder) => {
            const page = await browser.newPage();
            await run(page, url, folder);
            await page.close();
          }, { allowRuns: true }));
      }
    } finally {
      await browser.close();
    }
  },
});
