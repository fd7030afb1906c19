/** What the Python extension knows; it need not be there. */
import * as vscode from "vscode";

interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: unknown): Promise<{ executable?: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function api(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  const exported = extension.isActive ? extension.exports : await extension.activate();
  return exported?.environments === undefined ? undefined : exported;
}

/** The interpreter that is chosen for a folder. */
export async function chosenInterpreter(folder: vscode.Uri | undefined): Promise<string | undefined> {
  try {
    const python = await api();
    const path = python?.environments.getActiveEnvironmentPath(folder);
    const environment = path === undefined ? undefined : await python?.environments.resolveEnvironment(path);
    return environment?.executable?.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Calls back when another interpreter is chosen. */
export async function onInterpreterChange(callback: () => void): Promise<vscode.Disposable | undefined> {
  try {
    return (await api())?.environments.onDidChangeActiveEnvironmentPath(callback);
  } catch {
    return undefined;
  }
}
