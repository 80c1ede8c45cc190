// The gateway under test: the real binary on free ports with its own data
// directory, and what a merchant and an operator do with it.
import { execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The binary under test; `make build` makes the default one. */
const binary = process.env.AGEGATE_BIN ?? join(root, "bin/agegate");

/** When a step hangs, in milliseconds: far beyond what a busy machine needs. */
export const patience = 180_000;

/** Returns a new directory below the system's temporary one. */
export const scratch = () => mkdtempSync(join(tmpdir(), "agegate-e2e-"));

/**
 * Starts `agegate demo` (gateway and sample shop) and waits until it is ready.
 * env overrides the configuration by variable name; terminal runs it on one, as
 * somebody does who reads what it prints; secure: it serves https itself.
 */
export async function startGateway(env = {}, { terminal = false, secure = false } = {}) {
  if (!existsSync(binary)) throw new Error(`${binary} is missing: run make build`);
  const gateway = new Gateway(scratch(), await freePort(11_000), await freePort(21_000), env, terminal, secure);
  await gateway.start();
  return gateway;
}

class Gateway {
  /** All that the process wrote to its error stream, on a terminal to both. */
  log = "";
  #process = null;
  #tenants = 0;

  constructor(data, port, shopPort, env, terminal, secure) {
    this.terminal = terminal;
    this.secure = secure;
    this.data = data;
    this.port = port;
    this.url = `http://localhost:${port}`;
    this.shop = `http://localhost:${shopPort}`;
    this.args = ["demo", "--data", data, "--shop-listen", `localhost:${shopPort}`];
    this.env = {
      PATH: process.env.PATH,
      AGEGATE_LISTEN: `localhost:${port}`,
      AGEGATE_BASE_URL: this.url,
      AGEGATE_DATABASE_URL: `sqlite:${join(data, "agegate.db")}`,
      AGEGATE_ALLOW_INSECURE_CALLBACKS: "true",
      AGEGATE_TEST_DAILY_CAP: "-1",
      AGEGATE_LOG_LEVEL: "info", // tests read what it must not hold
      AGEGATE_AGE_MARGIN: "3", // the face of the clips reads 20 to 23: far enough from 16, and from 63
      ...env,
    };
  }

  async start() {
    const [command, args] = this.terminal ? ["script", ["-qefc", [binary, ...this.args].join(" "), "/dev/null"]] : [binary, this.args];
    const child = start(command, args, { cwd: root, env: this.env, stdio: ["ignore", this.terminal ? "pipe" : "ignore", "pipe"] });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text) => (this.log += text));
    let ended = false;
    child.once("exit", () => (ended = true));
    await eventually("the gateway is ready", () => {
      if (ended) throw new Error(`the gateway did not start:\n${this.log}`);
      return this.secure ? this.#healthy() : fetch(`${this.url}/readyz`).then((r) => r.ok, () => false);
    });
  }

  /** Whether the operator's command finds the gateway ready. */
  #healthy() {
    try {
      return this.command("health") !== "";
    } catch {
      return false;
    }
  }

  /** The ID of the gateway's process; on a terminal, of the terminal's. */
  get pid() {
    return this.#process.pid;
  }

  /** Waits for a line that the process prints and returns the pattern's first group. */
  async printed(pattern) {
    return (await eventually(`${pattern} is printed`, () => this.log.match(pattern)))[1];
  }

  /** Ends the process by a signal and waits for it; the data stay. */
  async halt(signal = "SIGTERM") {
    if (this.#process) await end(this.#process, signal);
  }

  async stop() {
    await this.halt();
    rmSync(this.data, { recursive: true, force: true });
  }

  /** Makes a tenant with the operator's command; flags are those of `tenant create`. */
  tenant(...flags) {
    const urls = ["--success-url", `${this.shop}/?passed`, "--cancel-url", `${this.shop}/cancelled`];
    return JSON.parse(this.command("tenant", "create", "--name", `Shop ${++this.#tenants}`, ...urls, ...flags, "--json"));
  }

  /** Runs a command of the operator and returns what it prints. */
  command(...args) {
    this.env.AGEGATE_SECRET_KEY ??= readFileSync(join(this.data, "secret.key"), "utf8");
    return execFileSync(binary, args, { env: this.env, encoding: "utf8", timeout: patience, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Creates a session as a merchant's backend does; test mode unless live. */
  async session(tenant, { age = 18, live = false } = {}) {
    const key = live ? tenant.api_keys.live : tenant.api_keys.test;
    const response = await fetch(`${this.url}/api/v1/sessions/create`, {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body: JSON.stringify({ target_age: age }),
    });
    if (response.status !== 201) throw new Error(`create answered ${response.status}`);
    const created = await response.json();
    const look = async (what) => {
      const r = await fetch(`${this.url}/api/v1/sessions/${created.session_id}/${what}`, { headers: { "X-API-Key": key } });
      return r.json();
    };
    return {
      id: created.session_id,
      url: created.verification_url,
      status: async () => (await look("status")).status,
      detectedAge: () => look("detected-age"),
    };
  }
}

/**
 * Returns a free port of the ten thousand from first on, which should lie below
 * those that the system gives to outgoing connections: one of these could take
 * the port before the gateway does.
 */
export function freePort(first) {
  return new Promise((resolve, reject) => {
    const port = first + randomInt(10_000);
    const server = createServer().once("error", (error) => (error.code === "EADDRINUSE" ? resolve(freePort(first)) : reject(error)));
    server.listen(port, "localhost", () => server.close(() => resolve(port)));
  });
}

/** Resolves after some milliseconds. */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Resolves as a promise does, and fails if that takes longer than some milliseconds. */
export function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`did not happen within ${ms / 1000} s: ${what}`)), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Calls look() until it returns something true, and returns that. */
export function eventually(what, look, limit = patience) {
  const end = Date.now() + limit;
  const looking = async () => {
    for (; Date.now() < end; await pause(100)) {
      const found = await look();
      if (found) return found;
    }
  };
  return within(limit, what, looking().then((found) => found ?? new Promise(() => {})));
}

const children = new Set(); // running programs
process.once("exit", () => children.forEach((child) => child.kill("SIGKILL")));

/** Starts a program that does not outlive this process. */
export function start(command, args, options) {
  const child = spawn(command, args, options);
  children.add(child);
  return child.once("exit", () => children.delete(child));
}

/** Ends a program by a signal, by force if it has not ended after half a minute, and waits for it. */
export async function end(child, signal = "SIGTERM") {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  const force = setTimeout(() => child.kill("SIGKILL"), 30_000);
  await exit;
  clearTimeout(force);
}

