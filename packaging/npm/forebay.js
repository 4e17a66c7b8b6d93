#!/usr/bin/env node
// Runs the binary of this system, which comes as a package of its own: nothing is
// fetched or run while packages are installed.
"use strict";
const { spawn } = require("node:child_process");

const name = `@forebay/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "forebay.exe" : "forebay";
let binary;
try {
  binary = require.resolve(`${name}/${file}`);
} catch {
  console.error(
    `forebay: the package ${name} is not installed: optional dependencies were left out, or there is no release for ${process.platform} on ${process.arch}`,
  );
  process.exit(3);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`forebay: ${error.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Whoever waits sees how the binary ended.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
