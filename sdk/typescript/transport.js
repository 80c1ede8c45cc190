/**
 * A refusal by the gateway, or no answer, which has the status 0 and a cause. Its text is the status, the detail,
 * the request's ID and where help is.
 */
export class AgegateError extends Error {
  /**
   * @param {Response} response
   * @param {any} body the answer's JSON, or undefined
   * @param {ErrorOptions} [options]
   */
  constructor(response, body, options) {
    const detail = body?.detail;
    const violations = Array.isArray(detail) ? detail : [];
    const text = typeof detail === "string" ? detail
      : violations.map((v) => `${v.type} at ${v.loc.join(".")}`).join(", ") || detail?.message || response.statusText;
    const requestId = response.headers.get("X-Request-ID") ?? "";
    const link = /<([^>]*)>; rel="help"/.exec(response.headers.get("Link") ?? "")?.[1] ?? "";
    const help = link && response.url ? new URL(link, response.url).href : link;
    const more = `${requestId && ` (request ${requestId})`}${help && `, see ${help}`}`;
    super(`${response.status || "no answer:"} ${text}${more}`, options);
    this.name = "AgegateError";
    this.status = response.status;
    /** @type {string} */
    this.detail = text;
    /** @type {string | undefined} */
    this.code = detail?.code;
    /** @type {import("./types.js").Violation[]} */
    this.violations = violations;
    this.requestId = requestId;
    this.help = help;
    this.retryAfter = Number(response.headers.get("Retry-After") ?? 0) || 0;
  }
}

/** What sends the requests of a Client. */
export class Transport {
  #baseUrl;
  #apiKey;
  #fetch;

  /**
   * @param {string} baseUrl the gateway, such as https://age.example.com
   * @param {string} apiKey svc_test_... or svc_live_...
   * @param {typeof fetch} [fetcher]
   */
  constructor(baseUrl, apiKey, fetcher = (...args) => fetch(...args)) {
    if (!/^https?:\/\/[^/]/.test(baseUrl)) throw new TypeError("The address must be an absolute http or https URL.");
    if (!/^svc_(test|live)_/.test(apiKey)) throw new TypeError("The API key must be svc_test_... or svc_live_...");
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#apiKey = apiKey;
    this.#fetch = fetcher;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ query?: Record<string, string | number | undefined>, headers?: Record<string, string | undefined>, body?: unknown }} [request]
   * @returns {Promise<any>}
   */
  async call(method, path, { query = {}, headers = {}, body } = {}) {
    const url = new URL(this.#baseUrl + path);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, `${value}`);
    const sent = new Headers({ "X-API-Key": this.#apiKey });
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) sent.set(name, value);
    if (body !== undefined) sent.set("Content-Type", "application/json");
    const [response, text] = await this.#fetch(url, {
      method, headers: sent, body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual", // a redirect would take the key to another address
      signal: AbortSignal.timeout(15_000),
    }).then(/** @returns {Promise<[Response, string]>} */ async (answer) => [answer, await answer.text()]).catch((cause) => {
      const why = cause.cause?.message || cause.cause?.code || cause.message; // fetch hides why
      throw new AgegateError(Response.error(), { detail: why }, { cause });
    });
    if (response.ok) return JSON.parse(text);
    let refusal;
    try {
      refusal = JSON.parse(text);
    } catch { /* not the gateway's own answer, but a proxy's */ }
    throw new AgegateError(response, refusal);
  }
}
