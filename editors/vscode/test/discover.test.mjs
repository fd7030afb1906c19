import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { candidates, complaint, discover, execute, expand, installCommand } from "../out/discover.js";

const none = { path: [], interpreter: "", folders: [] };
const reasons = (list) => list.map((one) => one.reason);

test("a command in the settings is the only candidate", () => {
  const list = candidates({ ...none, path: ["uvx", "devicefix"], interpreter: "/py", chosen: "/other" });
  assert.deepEqual(list, [{ command: ["uvx", "devicefix"], reason: "devicefix.path" }]);
});

test("an interpreter in the settings is the only candidate", () => {
  const list = candidates({ ...none, interpreter: "${workspaceFolder}/env/bin/python", folders: ["/w"], chosen: "/other" });
  assert.deepEqual(list.map((one) => one.command), [["/w/env/bin/python", "-m", "devicefix"]]);
});

test("the chosen interpreter comes first, PATH last", () => {
  const list = candidates({ ...none, chosen: "/chosen", preferred: "/preferred", folders: ["/w"] }, () => true);
  assert.deepEqual(reasons(list), [
    "interpreter chosen in the Python extension", "python.defaultInterpreterPath",
    ".venv in the workspace", "venv in the workspace", "devicefix on PATH", "Python on PATH",
  ]);
});

test("nothing is tried twice", () => {
  const list = candidates({ ...none, chosen: "/same", preferred: "/same" });
  assert.deepEqual(reasons(list), ["interpreter chosen in the Python extension", "devicefix on PATH", "Python on PATH"]);
});

test("an environment that is not there is not tried", () => {
  assert.ok(!reasons(candidates({ ...none, folders: ["/w"] }, () => false)).some((reason) => reason.includes("venv")));
});

test("the first that has it is taken", async () => {
  const run = async (program) => program === "/b"
    ? { output: "devicefix 1.2.3\n" } : { output: "", problem: "there is no devicefix in it" };
  const list = ["/a", "/b", "/c"].map((p) => ({ command: [p, "-m", "devicefix"], interpreter: p, reason: p }));
  const found = await discover(list, run);
  assert.equal(found.kind, "found");
  assert.deepEqual([found.command, found.args, found.version], ["/b", ["-m", "devicefix", "server"], "1.2.3"]);
});

test("the message says where it was looked for and what is wrong", async () => {
  const run = async () => ({ output: "", problem: "there is no devicefix in it" });
  const missing = await discover(candidates({ ...none, chosen: "/env/bin/python" }), run);
  assert.equal(missing.kind, "missing");
  assert.equal(missing.interpreter, "/env/bin/python");
  assert.equal(complaint(missing), "devicefix was not found in /env/bin/python "
    + "(interpreter chosen in the Python extension): there is no devicefix in it.");
});

test("a real interpreter without devicefix says so", async () => {
  const python = process.env.PYTHON_WITHOUT ?? "/usr/bin/python3";
  const found = await discover([{ command: [python, "-m", "devicefix"], interpreter: python, reason: "test" }]);
  if (found.kind === "missing") {
    assert.match(found.tried[0].problem, /there is no devicefix|Python 3\.10 or newer|no such program/);
  }
});

test("a program that is something else is not taken", async () => {
  const folder = mkdtempSync(join(tmpdir(), "devicefix-"));
  const program = join(folder, "devicefix");
  writeFileSync(program, "#!/bin/sh\necho something else\n");
  chmodSync(program, 0o755);
  const found = await discover([{ command: [program], reason: "test" }], execute);
  assert.equal(found.kind, "missing");
  assert.equal(found.tried[0].problem, "it is not devicefix");
});

test("a program that does not exist", async () => {
  const found = await discover([{ command: ["/no/such/program"], reason: "test" }]);
  assert.equal(found.tried[0].problem, "there is no such program");
});

test("settings may use the home and workspace folders", () => {
  assert.equal(expand("~/env/python", []), `${process.env.HOME}/env/python`);
  assert.equal(expand("${workspaceFolder}/x", ["/w"]), "/w/x");
});

test("the install command can be pasted", () => {
  assert.equal(installCommand("/usr/bin/python3"), '/usr/bin/python3 -m pip install "devicefix[lsp]"');
  assert.equal(installCommand("/my env/python"), `'/my env/python' -m pip install "devicefix[lsp]"`);
});
