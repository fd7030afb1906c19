// Runs inside the real extension host (`extensionTestsPath`). Plain asserts; the results go to the file that the plan
// names. DEVICEFIX_PLAN: {"report", "files": [{"name", "findings"}], "notebook", "menu", "unsaved", "fixed"}.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const vscode = require("vscode");

const plan = JSON.parse(fs.readFileSync(process.env.DEVICEFIX_PLAN, "utf8"));
const results = [];

async function until(what, condition, ms = 30_000) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const value = await condition();
    if (value) {
      return value;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`timeout: ${what}`);
}

async function test(name, body) {
  if (plan.only && !new RegExp(plan.only).test(name)) {
    return;
  }
  const begin = Date.now();
  try {
    await body();
    results.push({ name, ok: true, ms: Date.now() - begin });
  } catch (error) {
    results.push({ name, ok: false, error: String((error && error.stack) || error), ms: Date.now() - begin });
  }
}

const folder = () => vscode.workspace.workspaceFolders[0].uri;
const at = (name) => vscode.Uri.joinPath(folder(), name);
const code = (d) => String(d.code?.value ?? d.code);
const everything = (document) => new vscode.Range(0, 0, document.lineCount, 0);

async function open(name) {
  const document = await vscode.workspace.openTextDocument(at(name));
  await vscode.window.showTextDocument(document);
  return document;
}

async function diagnosed(document, count) {
  const mine = () => vscode.languages.getDiagnostics(document.uri).filter((d) => d.source === "devicefix");
  await until(`${count} diagnostics in ${document.uri}, have ${mine().length}`, () => mine().length === count);
  return mine();
}

const actions = (uri, range, kind) =>
  vscode.commands.executeCommand("vscode.executeCodeActionProvider", uri, range, kind, 20);

async function fixAll(document, kind = "source.fixAll") {
  const found = await actions(document.uri, everything(document), kind);
  assert.deepEqual(found.map((a) => a.kind.value), [`${kind}.devicefix`]);
  assert.ok(await vscode.workspace.applyEdit(found[0].edit));
}

async function update(name, value) {
  await vscode.workspace.getConfiguration("devicefix").update(name, value, vscode.ConfigurationTarget.Global);
}

exports.run = async function run() {
  const extension = vscode.extensions.getExtension("devicefix.devicefix");

  await test("the extension starts the server it finds", async () => {
    await open(plan.files[0].name);
    const api = await extension.activate();
    await until(`running, is: ${api.status()}`, () => /^devicefix \d/.test(api.status()));
  });

  for (const { name, findings } of plan.files) {
    await test(`open, diagnose, fix, save: ${name}`, async () => {
      const document = await open(name);
      await diagnosed(document, findings);
      await fixAll(document);
      assert.ok(await document.save());
    });
  }

  await test("quick fix, preferred, with the right span behind wide characters", async () => {
    const document = await open(plan.menu);
    const [found] = await diagnosed(document, 1);
    assert.equal(document.getText(found.range), "x.to(device)");
    const offered = await actions(document.uri, found.range, "quickfix");
    assert.deepEqual(offered.map((a) => [a.title, a.isPreferred ?? false]), [
      ["devicefix: assign the result to `x`", true],
      ["devicefix: ignore DVF101 here", false],
    ]);
    assert.ok(await vscode.workspace.applyEdit(offered[0].edit));
    await diagnosed(document, 0);
    assert.ok(await document.save());
  });

  await test("a buffer that was never saved", async () => {
    const document = await vscode.workspace.openTextDocument({ language: "python", content: plan.unsaved });
    await vscode.window.showTextDocument(document);
    await diagnosed(document, 1);
    await fixAll(document);
    assert.equal(document.getText(), plan.fixed);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  await test("the command fixes the active file", async () => {
    const document = await vscode.workspace.openTextDocument({ language: "python", content: plan.unsaved });
    await vscode.window.showTextDocument(document);
    await diagnosed(document, 1);
    await vscode.commands.executeCommand("devicefix.fixAll");
    await until("the fix", () => document.getText() === plan.fixed);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  await test("hover shows the rule's page", async () => {
    const document = await vscode.workspace.openTextDocument({ language: "python", content: plan.unsaved });
    await vscode.window.showTextDocument(document);
    const [found] = await diagnosed(document, 1);
    const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", document.uri, found.range.start);
    const text = hovers.flatMap((h) => h.contents).map((c) => c.value ?? c).join("\n");
    assert.match(text, /# DVF101 dropped-move/);
  });

  await test("a change of the settings reaches the server", async () => {
    const document = vscode.window.activeTextEditor.document;
    await diagnosed(document, 1);
    await update("ignore", ["DVF101"]);
    await diagnosed(document, 0);
    await update("ignore", undefined);
    await diagnosed(document, 1);
  });

  await test("restart", async () => {
    const document = vscode.window.activeTextEditor.document;
    await vscode.commands.executeCommand("devicefix.restart");
    await diagnosed(document, 1);
    assert.match(extension.exports.status(), /^devicefix \d/);
  });

  await test("an interpreter without devicefix is reported, and setting it right helps", async () => {
    const document = vscode.window.activeTextEditor.document;
    const working = vscode.workspace.getConfiguration("devicefix").get("interpreter");
    assert.ok(working);
    await update("interpreter", "/no/such/python");
    await until("not running", () => extension.exports.status() === "devicefix: not running");
    await diagnosed(document, 0);
    await update("interpreter", working);
    assert.equal(vscode.workspace.getConfiguration("devicefix").get("interpreter"), working);
    await until(`running, is: ${extension.exports.status()}`, () => /^devicefix \d/.test(extension.exports.status()));
    await diagnosed(document, 1);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  });

  await test("notebook: each cell has its findings, and the command fixes them all", async () => {
    const notebook = await vscode.workspace.openNotebookDocument(at(plan.notebook));
    await vscode.window.showNotebookDocument(notebook);
    const cells = notebook.getCells().filter((cell) => cell.kind === vscode.NotebookCellKind.Code);
    for (const [index, count] of plan.cells.entries()) {
      await diagnosed(cells[index].document, count);
    }
    const clean = cells[0].document; // VS Code asks in the first cell only
    const offered = await actions(clean.uri, everything(clean), "notebook.source.fixAll");
    assert.deepEqual(offered.map((a) => a.kind.value), ["notebook.source.fixAll.devicefix"]);
    assert.equal(offered[0].edit.entries().length, plan.editedCells);
    await vscode.commands.executeCommand("devicefix.fixAll");
    for (const index of plan.cells.keys()) {
      await diagnosed(cells[index].document, 0);
    }
    assert.ok(await notebook.save());
  });

  const failed = results.filter((result) => !result.ok).length;
  fs.writeFileSync(`${plan.report}.part`, JSON.stringify({ version: vscode.version, failed, results }, null, 1));
  fs.renameSync(`${plan.report}.part`, plan.report);
};
