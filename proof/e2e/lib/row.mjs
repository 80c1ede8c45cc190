// The rows of the suite: tests that end, whatever fails in them, and leave
// nothing that slows the next one down.
import * as node from "node:test";
import { closeShoppers } from "./browser.mjs";

/** When a row fails, in milliseconds: three times the patience of one step. */
export const limit = 600_000;

/** Whether rows over many pages have each page in all its sizes and themes, as a release has them (make test-long). */
export const long = process.env.E2E_LONG === "1";

/** How long a file's process may live after its last row, in milliseconds. */
const leaving = Number(process.env.E2E_LEAVING ?? 60_000);

/** Registers a test, as test() of node:test does, with a limit of time. */
export function test(name, ...rest) {
  const body = rest.pop();
  return node.test(name, { timeout: limit, ...rest[0] }, body);
}

/** Registers a test that a release alone runs, because it films for long and others see nearly the same. */
export const releasing = long ? test : () => {};

/** Registers what precedes the rows of a file. */
export const before = (hook) => node.before(hook, { timeout: limit });

/** Registers what follows the rows of a file. */
export const after = (hook) => node.after(hook, { timeout: limit });

// A page that a row leaves open keeps its camera running, and its place in the
// server's line: the next row would wait for it.
const started = new Map();
node.beforeEach(({ name }) => started.set(name, performance.now()));
node.afterEach(({ name }) => closeShoppers(started.get(name)));

// node --test waits for the process of a file without limit.
node.after(() =>
  setTimeout(() => {
    console.error(`the process still held ${process.getActiveResourcesInfo()} ${leaving / 1000} s after its last row`);
    process.exit(1);
  }, leaving).unref(),
);
