"""Runs the JavaScript of an exported kernel in Node, for tests that compare it with Python.

The first, second, … run in a folder has the same entropy whenever a test runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import mechdesign as md

NODE = shutil.which("node") or shutil.which("nodejs")
MISSING = "THERE IS NO NODE: the module for devices is not run in any test"

_HEAD = """
import { readFileSync } from "node:fs";
import { createHash, webcrypto } from "node:crypto";
import * as all from "./client.mjs";
const { Client, kernel, kernels, send, toJSON, keyFromText, blake2b } = all;
globalThis.crypto ??= webcrypto; // Node 18 has it in its library only
if (process.env.TEST_SEED !== undefined) {
  let asked = 0;
  const getRandomValues = (part) => {
    const hash = createHash("shake256", { outputLength: part.byteLength });
    const found = hash.update(`${process.env.TEST_SEED} ${asked++}`).digest();
    new Uint8Array(part.buffer, part.byteOffset, part.byteLength).set(found);
    return part;
  };
  const value = { getRandomValues };
  Object.defineProperty(globalThis, "crypto", { value, configurable: true, writable: true });
}
const given = JSON.parse(readFileSync("given.json", "utf8"));
const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"));
const memory = (map = new Map()) => ({
  map, getItem: (name) => map.get(name) ?? null, setItem: (name, text) => map.set(name, text),
});
const said = async (task) => {
  try { return ["done", await task()]; } catch (error) { return [error.name, error.message]; }
};
const tell = (value) => process.stdout.write(JSON.stringify(value));
"""


def run_node(folder, mechanism, body, given=None, **options):
    """What the body tells: JSON of what it passes to ``tell``."""
    md.export(mechanism, folder / "client.mjs", to="javascript", overwrite=True, **options)
    return run_script(folder, body, given)


def run_script(folder, body, given=None):
    """The same with the module that is in the folder."""
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    (folder / "main.mjs").write_text(_HEAD + body, encoding="utf-8")
    with open(folder / "runs", "a") as runs:
        runs.write(".")
        seed = str(runs.tell())
    # What is remembered without a storage lies in the folder of the test.
    done = subprocess.run(
        [NODE, "main.mjs"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "XDG_DATA_HOME": str(folder / "data"), "TEST_SEED": seed},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
