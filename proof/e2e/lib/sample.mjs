// The sample face that the npm package of the models carries, as a JPEG.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./gateway.mjs";

export function sampleJPEG() {
  const source = readFileSync(join(root, "node_modules/@vladmandic/human/src/sample.ts"), "utf8");
  return Buffer.from(/export const face: string = `([^`]+)`/.exec(source)[1], "base64");
}
