// node e2e/clicks.mjs FOLDER PLAN: a person at a real VS Code with the packaged extension installed. The light bulb of a
// finding is clicked and the fix chosen; a file is fixed by saving it; a notebook is fixed by saving it.
// The plan: {"report", "vsix", "bulb": FILE, "bulbText", "bulbFixed", "saved": FILE, "savedFixed", "notebook": FILE,
// "notebookFixed", "machineSettings", "pictures": FOLDER or null}.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "./code_server.mjs";

const [folder, planFile] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, "utf8"));
const begin = Date.now();
const steps = [];
const lap = (what) => steps.push({ ms: Date.now() - begin, what });
const BULB = [
  "codicon-light-bulb-autofix", "codicon-lightbulb-autofix",
  "codicon-gutter-lightbulb-auto-fix", "codicon-gutter-lightbulb-aifix-auto-fix",
].map((name) => `.monaco-editor .${name}`).join(", ");

const { page, base, close } = await start({
  vsix: plan.vsix,
  machineSettings: plan.machineSettings,
  settings: {
    "[python]": { "editor.codeActionsOnSave": { "source.fixAll.devicefix": "explicit" } },
    "notebook.codeActionsOnSave": { "notebook.source.fixAll.devicefix": "explicit" },
  },
});
const picture = (name) => plan.pictures ? page.screenshot({ path: join(plan.pictures, `${name}.png`) }) : undefined;

/** A real click of the mouse: locator.click() waits for menus to stand still, which they never do. */
async function click(locator, twice = false) {
  await locator.waitFor({ state: "visible", timeout: 60_000 });
  const box = await locator.boundingBox();
  await page.mouse.click(box.x + Math.min(60, box.width / 2), box.y + box.height / 2, { clickCount: twice ? 2 : 1 });
}

const open = (name) => click(page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).first(), true);
const lines = (text) => page.locator(".monaco-editor .view-line", { hasText: text });
const squiggle = (scope) => page.waitForSelector(`${scope} .squiggly-warning`, { timeout: 60_000 });

/** Edit the line that has the focus and save, until the file is as expected: the editor gives up on the actions of a
 * save that take longer than it likes, which happens on a busy machine. */
async function editAndSave(name, test) {
  for (let attempt = 0; attempt < 5; attempt++) {
    await page.keyboard.press("End");
    await page.keyboard.type(attempt ? " again" : "  # edited");
    await page.keyboard.press("Control+s");
    if (await isOnDisk(name, (text) => text.includes("# edited") && test(text), 10_000)) {
      return;
    }
  }
  throw new Error(`${name} was not saved as expected`);
}

async function isOnDisk(name, test, limit) {
  for (let waited = 0; waited < limit; waited += 50) {
    if (test(readFileSync(join(folder, name), "utf8"))) {
      return true;
    }
    await page.waitForTimeout(50);
  }
  return false;
}

async function onDisk(name, test) {
  if (!(await isOnDisk(name, test, 30_000))) {
    throw new Error(`${name} was not saved as expected`);
  }
}

let problem = null;
try {
  await page.goto(`${base}/?folder=${encodeURIComponent(folder)}`);
  await page.waitForSelector(".explorer-folders-view .monaco-list-row", { timeout: 90_000 });
  lap("VS Code is open");

  await open(plan.bulb);
  await squiggle(".editor-container");
  lap("the finding is underlined");
  await picture("1-finding");
  await click(lines(plan.bulbText).first());
  await page.keyboard.press("End");
  for (let column = 0; column < 4; column++) {
    await page.keyboard.press("ArrowLeft"); // into the finding
  }
  await page.waitForSelector(BULB, { timeout: 60_000 });
  await picture("2-light-bulb");
  await click(page.locator(BULB).first());
  const row = page.locator(".action-widget .monaco-list-row", { hasText: "assign the result to" }).first();
  await row.waitFor({ state: "visible", timeout: 60_000 });
  lap(`the menu: ${(await page.locator(".action-widget .monaco-list-row").allInnerTexts()).join(" | ")}`);
  await picture("3-menu");
  await click(row);
  await lines(plan.bulbFixed).first().waitFor({ state: "visible", timeout: 60_000 });
  await page.keyboard.press("Control+s");
  await onDisk(plan.bulb, (text) => text.includes(plan.bulbFixed));
  lap("the fix is chosen and saved");
  await picture("4-fixed");

  await open(plan.saved);
  await squiggle(".editor-container");
  await click(page.locator(".editor-container .monaco-editor .view-line").first());
  await editAndSave(plan.saved, (text) => text.includes(plan.savedFixed));
  lap("saving makes the safe fixes");

  await open(plan.notebook);
  await squiggle(".notebookOverlay .cell");
  lap("a cell's finding is underlined");
  await picture("5-notebook");
  const cell = page.locator(".notebookOverlay .cell .monaco-editor .view-line", { hasText: "cuda" }).first();
  await click(cell);
  await editAndSave(plan.notebook, (text) => text.includes(plan.notebookFixed));
  lap("saving the notebook makes its safe fixes");
  await picture("6-notebook-fixed");
} catch (error) {
  problem = String(error && error.stack || error);
  await page.screenshot({ path: `${plan.report}.png` }).catch(() => {});
}
await close();
writeFileSync(plan.report, JSON.stringify({ problem, steps }, null, 1));
process.exitCode = problem === null ? 0 : 1;
