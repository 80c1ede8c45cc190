// Firefox, by the WebDriver BiDi protocol (https://w3c.github.io/webdriver-bidi/):
// Playwright drives only its own build of Firefox, which no package manager has.
import { existsSync, rmSync } from "node:fs";
import WebSocket from "ws";
import { end, eventually, patience, scratch, start, within } from "./gateway.mjs";

const executable = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

/** Starts Firefox without a window and resolves to a Firefox with one tab. */
export async function launchFirefox() {
  if (!existsSync(executable)) throw new Error(`${executable} is missing: run make deps`);
  const profile = scratch();
  const child = start(executable, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: profile }, // it writes to its home too
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  const url = await eventually("Firefox listens", () => {
    if (child.exitCode !== null) throw new Error(`Firefox ended:\n${log}`);
    return /WebDriver BiDi listening on (ws:\S+)/.exec(log)?.[1];
  });
  const socket = new WebSocket(`${url}/session`);
  await new Promise((open, failed) => socket.once("open", open).once("error", failed));
  const firefox = new Firefox(child, profile, socket);
  await firefox.begin();
  return firefox;
}

class Firefox {
  /** Script errors, errors on the console and requests to other hosts so far. */
  breaches = [];
  #waiting = new Map();
  #commands = 0;

  constructor(child, profile, socket) {
    Object.assign(this, { child, profile, socket });
    socket.on("message", (data) => this.#receive(JSON.parse(data)));
  }

  async begin() {
    const { capabilities } = await this.#send("session.new", { capabilities: {} });
    this.version = capabilities.browserVersion;
    await this.#send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
    ({ context: this.tab } = await this.#send("browsingContext.create", { type: "tab" }));
  }

  #receive({ id, type, result, message, method, params }) {
    if (id !== undefined) {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (type === "success") resolve(result);
      else reject(new Error(message));
    } else if (method === "log.entryAdded" && params.level === "error") {
      this.breaches.push(params.text);
    } else if (method === "network.beforeRequestSent" && params.context === this.tab) {
      const { protocol, hostname, origin } = new URL(params.request.url);
      if (/^(http|ws)s?:/.test(protocol) && hostname !== "localhost") this.breaches.push(`request to ${origin}`);
    }
  }

  #send(method, params) {
    const id = ++this.#commands;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return within(patience, `Firefox answers ${method}`, answer);
  }

  /** Runs a script in every page before the page's own, as Playwright's addInitScript does. */
  addInitScript(script) {
    return this.#send("script.addPreloadScript", { functionDeclaration: `() => {\nif (!location.protocol.startsWith("http")) return;\n${script}\n}` });
  }

  goto(url) {
    return this.#send("browsingContext.navigate", { context: this.tab, url, wait: "interactive" });
  }

  /** Returns the value of an expression in the page. */
  async evaluate(expression) {
    const answer = await this.#send("script.evaluate", { expression, target: { context: this.tab }, awaitPromise: true });
    if (answer.type === "exception") throw new Error(answer.exceptionDetails.text);
    return answer.result.value;
  }

  /** Waits until an expression is true in whatever page is shown. */
  until(expression) {
    return eventually(expression, () => this.evaluate(`Boolean(${expression})`).catch(() => false)); // between two pages
  }

  /** Clicks the element that a data-testid names, once it can be. */
  async click(id) {
    const found = `document.querySelector('[data-testid="${id}"]:not(:disabled)')`;
    await this.until(`${found}?.offsetParent`);
    await this.evaluate(`${found}.click()`);
  }

  async close() {
    this.socket.close();
    await end(this.child);
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
