/**
 * The dashboard in a real browser: every view without a finding of axe, in light and dark and on a
 * phone; with the keyboard alone; live. RGX_TEST_SCREENSHOTS names a folder for pictures of it.
 */
import assert from "node:assert/strict";
import axe from "axe-core/axe.min.js" with { type: "text" };
import { type Browser, chromium, type Page } from "playwright-core";
import { NEEDED, needs } from "../../tests/skipped.ts";
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

async function everyView(browser: Browser, url: string, kind: string): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: kind === "phone" ? 390 : 1280, height: 900 },
    colorScheme: kind === "dark" ? "dark" : "light",
  });
  const page = await context.newPage(), errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  await page.waitForSelector("tbody tr");
  const id = await page.getAttribute("tbody tr", "data-run");
  for (const view of [...VIEWS, `run?run=${id}`]) {
    await open(page, view);
    assert.deepEqual(await findings(page), [], `${kind} ${view}`);
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(excess <= 0, `${kind} ${view} is ${excess} pixels too wide`);
    const cut = view !== "runs" ? 0 : await page.evaluate(() => {
      const table = document.querySelector(".wide")!;
      return table.scrollWidth - table.clientWidth;
    });
    assert.ok(cut <= 0, `${kind}: ${cut} pixels of the runs are cut off`);
    const folder = Deno.env.get("RGX_TEST_SCREENSHOTS");
    if (folder) await page.screenshot({ path: `${folder}/${kind}_${view.split("?")[0]}.png` });
  }
  assert.deepEqual(errors, []);
  await context.close();
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
      for (const kind of ["light", "dark", "phone"]) {
        await t.step(
          `every view passes axe and fits the window: ${kind}`,
          () => withDashboard(write, ({ url }) => everyView(browser, url, kind)),
        );
      }
      const steps: [string, (page: Page, url: string, folder: string) => Promise<void>][] = [
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
          }));
      }
    } finally {
      await browser.close();
    }
  },
});
