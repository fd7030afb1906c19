// node e2e/host.mjs FOLDER PLAN: runs e2e/host/index.js in the extension host of a real VS Code with FOLDER open.
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "./code_server.mjs";

const [folder, planFile] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, "utf8"));
process.env.DEVICEFIX_PLAN = planFile;
const extension = dirname(dirname(fileURLToPath(import.meta.url)));
const { page, base, port, close } = await start({ machineSettings: plan.machineSettings });
try {
  const remote = (path) => `vscode-remote://127.0.0.1:${port}${path}`;
  const payload = JSON.stringify([
    ["extensionDevelopmentPath", remote(extension)],
    ["extensionTestsPath", remote(`${extension}/e2e/host/index.js`)],
  ]);
  await page.goto(`${base}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(payload)}`);
  for (let waited = 0; waited < 6000 && !existsSync(plan.report); waited++) {
    await page.waitForTimeout(50);
  }
  if (!existsSync(plan.report)) {
    await page.screenshot({ path: `${plan.report}.png` }).catch(() => {});
    console.log(`no result; ${plan.report}.png shows the window`);
    process.exitCode = 1;
  }
} finally {
  await close();
}
