/**
 * Fixing a notebook when it is saved. VS Code asks for `notebook.source.*` actions in the notebook's first cell only,
 * and that is often text, which the server does not see: the question is passed on to the first Python cell.
 */
import * as vscode from "vscode";
import { CodeAction, CodeActionRequest, CodeActionResolveRequest, Command } from "vscode-languageclient/node";
import { Server } from "./server";

const KIND = vscode.CodeActionKind.Notebook.append("source.fixAll.devicefix");
const TEXT_CELLS = { language: "markdown", scheme: "vscode-notebook-cell" };

export function fixOnSave(server: Server): vscode.Disposable {
  const provider: vscode.CodeActionProvider = {
    async provideCodeActions(document, _range, context, token) {
      const client = server.client;
      const notebook = vscode.workspace.notebookDocuments.find((one) =>
        one.getCells().some((cell) => cell.document.uri.toString() === document.uri.toString()));
      const code = notebook?.getCells().find((cell) => cell.document.languageId === "python")?.document;
      if (client === undefined || code === undefined || !context.only?.contains(KIND)) {
        return [];
      }
      const found = await client.sendRequest(CodeActionRequest.type, {
        textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(code),
        range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
        context: { diagnostics: [], only: [KIND.value] },
      }, token);
      const actions = (found ?? []).filter((one): one is CodeAction => !Command.is(one));
      const resolved = await Promise.all(actions.map((one) =>
        one.edit === undefined ? client.sendRequest(CodeActionResolveRequest.type, one, token) : one));
      return Promise.all(resolved.map((one) => client.protocol2CodeConverter.asCodeAction(one, token)));
    },
  };
  return vscode.languages.registerCodeActionsProvider(TEXT_CELLS, provider, { providedCodeActionKinds: [KIND] });
}
