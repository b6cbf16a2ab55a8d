/**
 * How long a dashboard of 50 runs of 100,000 steps takes to open in Chromium, and how well it
 * scrolls: `deno run -A reports/dashboard/open_bench.ts [RUNS] [STEPS]`. Lines are as long as those
 * of a real run; all runs share one file. Seconds of the processor tell more than those of a clock
 * where other programs run.
 */
import process from "node:process";
import { chromium, type Page } from "playwright-core";
import { metricsLine, withDashboard, writeLongMetrics, writeRun } from "./testing.ts";

const [runs = 50, steps = 100_000] = Deno.args.map(Number);

const MORE = Array.from({ length: 40 }, (_, i) => `,"time/phase_${i}":${Math.PI * i}`).join("");

/** A line with 40 metrics more than those of tests. */
function longLine(step: number): string {
  const noise = 0.3 * Math.sin(step * step);
  return metricsLine(step, step / steps + noise).replace(/}\n$/, `${MORE}}\n`);
}

/** Seconds of the processor that this program, and that the page's process have taken so far. */
async function spent(page: Page): Promise<[server: number, page: number]> {
  const { user, system } = process.cpuUsage(), browser = page.context().browser()!;
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const own = processInfo.filter(({ type }) => type === "renderer").map(({ cpuTime }) => cpuTime);
  return [(user + system) / 1e6, own.reduce((sum, one) => sum + one, 0)];
}

async function measured(page: Page, what: string, work: () => Promise<unknown>): Promise<void> {
  const start = performance.now(), before = await spent(page);
  const said = await work() ?? "";
  const seconds = (performance.now() - start) / 1000, after = await spent(page);
  const [server, own] = after.map((one, i) => (one - before[i]!).toFixed(2));
  console.log(
    `${what}: ${seconds.toFixed(2)} s (processor: server ${server}, page ${own}) ${said}`,
  );
}

/** Turns the wheel for some seconds. @returns the share of frames that came in time */
async function scroll(page: Page): Promise<string> {
  await page.evaluate(() => {
    const times: number[] = [];
    const next = (time: number) => {
      times.push(time);
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
    Object.assign(globalThis, { times });
  });
  await page.mouse.move(640, 500);
  for (let i = 0; i < 60; i++) {
    await page.mouse.wheel(0, 80);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  const times = await page.evaluate(() => (globalThis as unknown as { times: number[] }).times);
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  const late = gaps.filter((gap) => gap > 25).length;
  const rate = 1000 * gaps.length / (times.at(-1)! - times[0]!);
  return `${rate.toFixed(0)} frames/s, ${late} of ${gaps.length} late, longest ` +
    `${Math.max(...gaps).toFixed(0)} ms`;
}

await withDashboard(async (folder) => {
  await writeRun(`${folder}/run-0`, 0);
  await writeLongMetrics(`${folder}/run-0/metrics.jsonl`, steps, longLine);
  for (let i = 1; i < runs; i++) {
    await writeRun(`${folder}/run-${i}`, 0, { "metrics.jsonl": null });
    await Deno.link(`${folder}/run-0/metrics.jsonl`, `${folder}/run-${i}/metrics.jsonl`);
  }
  const { size } = await Deno.stat(`${folder}/run-0/metrics.jsonl`);
  console.log(`${runs} runs of ${steps} steps, ${(size / 1e6).toFixed(0)} MB each`);
}, async ({ url }) => {
  const executablePath = "/usr/bin/chromium";
  await using browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(0);
  const drawn = () => page.waitForSelector(".plot canvas");
  await measured(page, "list", async () => {
    await page.goto(url);
    await page.waitForFunction(
      (count) => document.querySelectorAll("polyline").length === count,
      runs,
    );
  });
  await measured(page, "the list scrolls", () => scroll(page));
  await measured(page, "curves of 6 runs", async () => {
    await page.evaluate(() => location.hash = "#/curves");
    await drawn();
  });
  const ids = await page.$$eval("[data-run]", (all) => all.map((one) => one.dataset["run"]));
  await measured(page, `curves of ${runs} runs`, async () => {
    await page.evaluate((hash) => location.hash = hash, `#/curves?runs=${ids}`);
    await page.waitForFunction((more) => {
      const shown = [...document.querySelectorAll(".reading")].map((one) => one.textContent);
      return shown.some((text) => text?.includes(more));
    }, runs > 8 ? `and ${runs - 8} more` : "");
  });
  await measured(page, "the curves scroll", () => scroll(page));
  await measured(page, "every step of all", async () => {
    await page.waitForFunction(
      () => !document.querySelector(".controls [role=status]")?.textContent?.includes("first look"),
      null,
      { timeout: 0 },
    );
  });
  await measured(page, "the curves scroll again", () => scroll(page));
  console.log(`memory of the server: ${(Deno.memoryUsage().rss / 1e9).toFixed(1)} GB`);
}, { interval: 2000 });
