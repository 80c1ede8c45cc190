// Unpacks the Chromium of @sparticuz/chromium into node_modules/unpacked. The
// package was made for AWS Lambda: only there does it unpack the libraries that a
// bare machine lacks (NSS and NSPR), and always into the temporary directory, where
// its settings look for its font.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("node_modules/unpacked", import.meta.url));
mkdirSync(folder, { recursive: true });
Object.assign(process.env, { TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" });
const { default: chromium } = await import("@sparticuz/chromium");
await chromium.executablePath();
writeFileSync(join(folder, "fonts/fonts.conf"), `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`);
