/** The entry in the language status of Python files and notebooks. */
import * as vscode from "vscode";

export class Status implements vscode.Disposable {
  readonly #item: vscode.LanguageStatusItem;

  constructor(selector: vscode.DocumentSelector) {
    this.#item = vscode.languages.createLanguageStatusItem("devicefix.status", selector);
    this.#item.name = "devicefix";
  }

  get text(): string {
    return this.#item.text;
  }

  starting(): void {
    this.#show("devicefix: starting", vscode.LanguageStatusSeverity.Information, true);
  }

  running(version: string, place: string): void {
    this.#show(`devicefix ${version}`, vscode.LanguageStatusSeverity.Information, false, place);
    this.#item.command = { command: "devicefix.restart", title: "Restart" };
  }

  failed(why: string): void {
    this.#show("devicefix: not running", vscode.LanguageStatusSeverity.Error, false, why);
    this.#item.command = { command: "devicefix.showLog", title: "Show log" };
  }

  stopped(): void {
    this.#show("devicefix: turned off", vscode.LanguageStatusSeverity.Information, false);
  }

  #show(text: string, severity: vscode.LanguageStatusSeverity, busy: boolean, detail?: string): void {
    this.#item.text = text;
    this.#item.severity = severity;
    this.#item.busy = busy;
    this.#item.detail = detail;
  }

  dispose(): void {
    this.#item.dispose();
  }
}
