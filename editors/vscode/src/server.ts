/** Starts, restarts and stops the server. */
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, State } from "vscode-languageclient/node";
import { candidates, complaint, discover, Found, installCommand } from "./discover";
import { chosenInterpreter } from "./python";
import { Status } from "./status";

export const SELECTOR = [
  { language: "python", scheme: "file" },
  { language: "python", scheme: "untitled" },
  { language: "python", scheme: "vscode-notebook-cell" },
];

export class Server implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #status: Status;
  #client: LanguageClient | undefined;
  #queue: Promise<void> = Promise.resolve();

  constructor(log: vscode.LogOutputChannel, status: Status) {
    this.#log = log;
    this.#status = status;
  }

  get client(): LanguageClient | undefined {
    return this.#client;
  }

  /** Stop a running server and start one; requests that come meanwhile wait for their turn. */
  restart(): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      await this.#stop();
      await this.#start();
    }).catch((error: unknown) => {
      this.#log.error(String(error));
      this.#status.failed(String(error));
    });
    return this.#queue;
  }

  async #start(): Promise<void> {
    this.#status.starting();
    const found = await this.#find();
    if (found.kind === "missing") {
      this.#status.failed(complaint(found));
      void this.#offerHelp(found);
      return;
    }
    const { command, args, version, candidate } = found;
    this.#log.info(`starting ${[command, ...args].join(" ")} (devicefix ${version}, ${candidate.reason})`);
    const options: LanguageClientOptions = {
      documentSelector: SELECTOR,
      outputChannel: this.#log,
      diagnosticPullOptions: { onChange: true, onSave: true, onTabs: true },
    };
    const client = new LanguageClient("devicefix", "devicefix", { command, args }, options);
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        this.#status.running(version, `${command} (${candidate.reason})`);
      } else if (newState === State.Stopped && this.#client === client) {
        this.#status.failed("the server has stopped; see the log");
      }
    });
    this.#client = client;
    await client.start();
  }

  async #find(): Promise<Found> {
    const settings = vscode.workspace.getConfiguration("devicefix");
    const folders = vscode.workspace.workspaceFolders ?? [];
    const found = await discover(candidates({
      path: settings.get<string[]>("path") ?? [],
      interpreter: settings.get<string>("interpreter") ?? "",
      chosen: await chosenInterpreter(folders[0]?.uri),
      preferred: vscode.workspace.getConfiguration("python").get<string>("defaultInterpreterPath"),
      folders: folders.map((folder) => folder.uri.fsPath),
    }));
    for (const { candidate, problem } of found.kind === "missing" ? found.tried : []) {
      this.#log.warn(`${candidate.command.join(" ")} (${candidate.reason}): ${problem}`);
    }
    return found;
  }

  async #offerHelp(missing: Extract<Found, { kind: "missing" }>): Promise<void> {
    const install = "Install";
    const choose = "Choose Interpreter";
    const settings = "Open Settings";
    const canChoose = (await vscode.commands.getCommands(true)).includes("python.setInterpreter");
    const buttons = [...(missing.interpreter ? [install] : []), ...(canChoose ? [choose] : []), settings];
    const answer = await vscode.window.showErrorMessage(complaint(missing), ...buttons);
    if (answer === install && missing.interpreter) {
      const terminal = vscode.window.createTerminal("devicefix");
      terminal.show();
      terminal.sendText(installCommand(missing.interpreter));
      const done = await vscode.window.showInformationMessage(
        "Restart devicefix when the installation is done.", "Restart");
      if (done === "Restart") {
        await this.restart();
      }
    } else if (answer === choose) {
      await vscode.commands.executeCommand("python.setInterpreter");
    } else if (answer === settings) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "devicefix.interpreter");
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) {
      try {
        await client.dispose(5_000);
      } catch (error) {
        this.#log.warn(`the server did not stop: ${String(error)}`);
      }
    }
  }

  /** Make every safe fix in the active file or notebook. */
  async fixAll(): Promise<void> {
    const notebook = vscode.window.activeNotebookEditor?.notebook;
    const document = notebook?.getCells().find((cell) => cell.document.languageId === "python")?.document
      ?? vscode.window.activeTextEditor?.document;
    if (document === undefined || this.#client === undefined) {
      void vscode.window.showWarningMessage(
        document === undefined ? "There is no Python file to fix." : "devicefix is not running.");
      return;
    }
    const uri = this.#client.code2ProtocolConverter.asUri(document.uri);
    const applied = await this.#client.sendRequest("workspace/executeCommand", {
      command: "devicefix.applyFixAll",
      arguments: [uri],
    });
    if (applied !== true) {
      void vscode.window.setStatusBarMessage("devicefix: nothing to fix safely", 5_000);
    }
  }

  async dispose(): Promise<void> {
    await this.#queue;
    await this.#stop();
  }
}
