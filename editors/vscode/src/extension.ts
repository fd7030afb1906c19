import * as vscode from "vscode";
import { fixOnSave } from "./notebook";
import { onInterpreterChange } from "./python";
import { SELECTOR, Server } from "./server";
import { Status } from "./status";

let server: Server | undefined;

/** The tests ask what state the extension is in. */
export interface Api {
  status(): string;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel("devicefix", { log: true });
  const status = new Status(SELECTOR);
  const running = (server = new Server(log, status));
  context.subscriptions.push(
    log,
    status,
    fixOnSave(running),
    vscode.commands.registerCommand("devicefix.restart", () => running.restart()),
    vscode.commands.registerCommand("devicefix.fixAll", () => running.fixAll()),
    vscode.commands.registerCommand("devicefix.showLog", () => log.show()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const restarts = ["devicefix.path", "devicefix.interpreter", "python.defaultInterpreterPath"];
      if (restarts.some((name) => event.affectsConfiguration(name))) {
        void running.restart();
      }
    }),
  );
  const listener = await onInterpreterChange(() => void running.restart());
  if (listener !== undefined) {
    context.subscriptions.push(listener);
  }
  await running.restart();
  return { status: () => status.text };
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}
