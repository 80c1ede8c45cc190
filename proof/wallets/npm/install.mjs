// Installs the packages that package-lock.json pins, unless they are installed.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const lock = readFileSync(`${folder}package-lock.json`, "utf8");
const installed = `${folder}node_modules/.installed`; // the lock file that was installed

if (!existsSync(installed) || readFileSync(installed, "utf8") !== lock) {
  execFileSync("npm", ["ci", "--silent"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"], timeout: 600_000 });
  writeFileSync(installed, lock);
}
