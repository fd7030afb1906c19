// A real VS Code: code-server with a fresh profile, and a headless Chromium in front of it. Nothing else is reached.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const EDITORS = process.env.DEVICEFIX_EDITORS;
const require = createRequire(join(EDITORS, "package.json"));
const { chromium } = require("playwright-core");
const PROGRAM = join(EDITORS, "node_modules/.bin/code-server");

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts both; `settings` are the user's, `machineSettings` name programs. The result has `page`, `base` (the address) and `close()`. */
export async function start({ settings, machineSettings, vsix }) {
  const home = mkdtempSync(join(tmpdir(), "devicefix-vscode-"));
  const data = join(home, "data");
  mkdirSync(join(data, "User"), { recursive: true });
  writeFileSync(join(data, "User/settings.json"), JSON.stringify({
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": false,
    "extensions.autoUpdate": false,
    "security.workspace.trust.enabled": false,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": false,
    "chat.commandCenter.enabled": false,
    "window.restoreWindows": "none",
    "files.simpleDialog.enable": true,
    ...settings,
  }));
  // To the browser this is a remote machine, whose own settings are the only ones that may name programs.
  mkdirSync(join(data, "Machine"));
  writeFileSync(join(data, "Machine/settings.json"), JSON.stringify(machineSettings ?? {}));
  const options = ["--user-data-dir", data, "--extensions-dir", join(home, "extensions")];
  const env = { ...process.env, HOME: home, EXTENSIONS_GALLERY: '{"serviceUrl":"http://127.0.0.1:9/"}' };
  if (vsix) {
    const done = spawnSync(PROGRAM, [...options, "--install-extension", vsix], { env, encoding: "utf8" });
    if (done.status !== 0) {
      throw new Error(`the extension was not installed: ${done.stdout}${done.stderr}`);
    }
  }
  const port = await freePort();
  const server = spawn(PROGRAM, [
    ...options, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`,
    "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override",
  ], { env, stdio: "ignore", detached: true });
  const base = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    try {
      await fetch(`${base}/healthz`);
      break;
    } catch (error) {
      if (tries > 300) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const browser = await chromium.launchPersistentContext(join(home, "browser"), {
    executablePath: process.env.DEVICEFIX_CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1280, height: 800 },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ],
  });
  const page = browser.pages()[0] ?? await browser.newPage();
  const close = async () => {
    await browser.close().catch(() => {});
    try {
      process.kill(-server.pid);
    } catch {
      // it is gone already
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  };
  return { page, base, port, close };
}
