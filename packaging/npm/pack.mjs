// Makes the npm packages of a release: node packaging/npm/pack.mjs VERSION ARCHIVES OUT
//
// One package for each archive that is there, with its binary alone, and `forebay`, which
// runs the one of its system. What it writes to OUT is what `npm publish FILE` takes.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [version, archives, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const top = resolve(here, "../..");
// Names of systems as Rust and as npm have them.
const SYSTEMS = [
  ["x86_64-unknown-linux-musl", "linux", "x64"],
  ["aarch64-unknown-linux-musl", "linux", "arm64"],
  ["x86_64-apple-darwin", "darwin", "x64"],
  ["aarch64-apple-darwin", "darwin", "arm64"],
  ["x86_64-pc-windows-msvc", "win32", "x64"],
  ["aarch64-pc-windows-msvc", "win32", "arm64"],
];
const manifest = /^description = "(.*)"$/m.exec(readFileSync(join(top, "Cargo.toml"), "utf8"));
const common = {
  version,
  description: manifest[1],
  license: "MIT OR Apache-2.0",
  repository: { type: "git", url: "git+https://github.com/forebay/forebay.git" },
};
const work = mkdtempSync(join(tmpdir(), "forebay-npm-"));
mkdirSync(out, { recursive: true });

const pack = (directory, content) => {
  writeFileSync(join(directory, "package.json"), JSON.stringify({ ...content, ...common }, null, 2) + "\n");
  for (const license of ["LICENSE-MIT", "LICENSE-APACHE"]) copyFileSync(join(top, license), join(directory, license));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(out)], { cwd: directory, stdio: "inherit" });
};

try {
  const optionalDependencies = {};
  for (const [target, os, cpu] of SYSTEMS) {
    const name = `forebay-${version}-${target}`;
    const archive = resolve(archives, `${name}.tar.gz`);
    if (!existsSync(archive)) continue;
    const file = os === "win32" ? "forebay.exe" : "forebay";
    const directory = join(work, `${os}-${cpu}`);
    mkdirSync(directory);
    execFileSync("tar", ["-xzf", archive, "-C", directory, "--strip-components", "1", `${name}/${file}`]);
    chmodSync(join(directory, file), 0o755);
    pack(directory, { name: `@forebay/${os}-${cpu}`, os: [os], cpu: [cpu], files: [file] });
    optionalDependencies[`@forebay/${os}-${cpu}`] = version;
  }
  if (Object.keys(optionalDependencies).length === 0) throw new Error(`no archive of ${version} in ${archives}`);
  const directory = join(work, "forebay");
  mkdirSync(directory);
  copyFileSync(join(here, "forebay.js"), join(directory, "forebay.js"));
  copyFileSync(join(top, "README.md"), join(directory, "README.md"));
  pack(directory, { name: "forebay", bin: { forebay: "forebay.js" }, files: ["forebay.js"], engines: { node: ">=18" }, optionalDependencies });
} finally {
  rmSync(work, { recursive: true, force: true });
}
