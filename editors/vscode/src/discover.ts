/** Where devicefix may be, in the order in which it is looked for. Knows nothing of VS Code, so that node can test it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What the settings and the Python extension say. */
export interface Wishes {
  /** `devicefix.path`: a command; nothing else is tried if it is set. */
  path: readonly string[];
  /** `devicefix.interpreter`: nothing else is tried if it is set. */
  interpreter: string;
  /** The interpreter that is chosen in the Python extension. */
  chosen?: string | undefined;
  /** `python.defaultInterpreterPath`. */
  preferred?: string | undefined;
  /** The folders of the workspace. */
  folders: readonly string[];
}

export interface Candidate {
  /** The program and its first arguments; `server` is added to start it. */
  command: readonly string[];
  /** The interpreter if it is one: it is asked whether devicefix is there. */
  interpreter?: string;
  /** Why it is tried, for the log and for messages. */
  reason: string;
}

export type Found =
  | { kind: "found"; command: string; args: string[]; version: string; candidate: Candidate }
  | { kind: "missing"; tried: Attempt[]; interpreter: string | undefined };

export interface Attempt {
  candidate: Candidate;
  problem: string;
}

const WINDOWS = process.platform === "win32";

/** Every place to look, best first. */
export function candidates(wishes: Wishes, exists: (path: string) => boolean = existsSync): Candidate[] {
  if (wishes.path.length > 0) {
    return [{ command: wishes.path, reason: "devicefix.path" }];
  }
  const python = (interpreter: string, reason: string): Candidate => ({
    command: [interpreter, "-m", "devicefix"],
    interpreter,
    reason,
  });
  if (wishes.interpreter) {
    return [python(expand(wishes.interpreter, wishes.folders), "devicefix.interpreter")];
  }
  const made: Candidate[] = [];
  if (wishes.chosen) {
    made.push(python(wishes.chosen, "interpreter chosen in the Python extension"));
  }
  if (wishes.preferred) {
    made.push(python(expand(wishes.preferred, wishes.folders), "python.defaultInterpreterPath"));
  }
  for (const folder of wishes.folders) {
    for (const name of [".venv", "venv"]) {
      const path = WINDOWS ? join(folder, name, "Scripts", "python.exe") : join(folder, name, "bin", "python");
      if (exists(path)) {
        made.push(python(path, `${name} in the workspace`));
      }
    }
  }
  made.push({ command: ["devicefix"], reason: "devicefix on PATH" });
  made.push(python(WINDOWS ? "python" : "python3", "Python on PATH"));
  return made.filter((one, index) => made.findIndex((other) => same(one, other)) === index);
}

function same(one: Candidate, other: Candidate): boolean {
  return one.command.join(delimiter) === other.command.join(delimiter);
}

/** `${workspaceFolder}` and `~` as they are written in settings. */
export function expand(path: string, folders: readonly string[]): string {
  const home = process.env["HOME"] ?? process.env["USERPROFILE"] ?? "";
  return path.replace(/\$\{workspaceFolder\}/g, folders[0] ?? "").replace(/^~(?=[\\/])/, home);
}

const PROBE = [
  "import importlib.util as u, sys",
  "if sys.version_info < (3, 10): sys.exit('Python 3.10 or newer is needed, this is %d.%d' % sys.version_info[:2])",
  "m = [n for n in ('devicefix', 'pygls') if u.find_spec(n) is None]",
  "if m: sys.exit('there is no ' + ' and no '.join(m) + ' in it')",
  "import devicefix; print('devicefix', devicefix.__version__)",
].join("\n");

/** The first candidate that has devicefix and what its server needs. */
export async function discover(list: readonly Candidate[], run: Run = execute): Promise<Found> {
  const tried: Attempt[] = [];
  for (const candidate of list) {
    const [program, ...first] = candidate.command;
    const asked = candidate.interpreter !== undefined
      ? await run(candidate.interpreter, ["-c", PROBE])
      : await run(program ?? "", [...first, "--version"]);
    const version = /^devicefix (\S+)/m.exec(asked.output)?.[1];
    if (asked.problem === undefined && program !== undefined && version !== undefined) {
      return { kind: "found", command: program, args: [...first, "server"], version, candidate };
    }
    tried.push({ candidate, problem: asked.problem ?? "it is not devicefix" });
  }
  return { kind: "missing", tried, interpreter: list.find((one) => one.interpreter !== undefined)?.interpreter };
}

export type Run = (program: string, args: readonly string[]) => Promise<{ output: string; problem?: string }>;

export const execute: Run = (program, args) =>
  new Promise((resolve) => {
    execFile(program, [...args], { timeout: 20_000 }, (error, stdout, stderr) => {
      if (error === null) {
        resolve({ output: stdout });
        return;
      }
      const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
      const said = stderr.trim().split("\n").at(-1) ?? "";
      resolve({ output: stdout, problem: missing ? "there is no such program" : said || error.message });
    });
  });

/** One sentence for the user. */
export function complaint(missing: Extract<Found, { kind: "missing" }>): string {
  const [first] = missing.tried;
  if (first === undefined) {
    return "devicefix was not found.";
  }
  const place = first.candidate.command[0] ?? "";
  return `devicefix was not found in ${place} (${first.candidate.reason}): ${first.problem}.`;
}

/** What installs devicefix into an interpreter, as one types it. */
export function installCommand(interpreter: string): string {
  const quoted = /^[\w./\\:-]+$/.test(interpreter) ? interpreter : WINDOWS ? `& "${interpreter}"` : `'${interpreter}'`;
  return `${quoted} -m pip install "devicefix[lsp]"`;
}
