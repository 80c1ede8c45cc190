import type { Violation } from "./types.js";

/** A refusal by the gateway, or no answer. Its text is the status, the detail, the request's ID and where help is. */
export declare class AgegateError extends Error {
  constructor(response: Response, body: any, options?: ErrorOptions);
  /** 0 where no answer came. */
  status: number;
  /** What went wrong, for people. */
  detail: string;
  /** For programs, where the answer has one. */
  code: string | undefined;
  /** Of a request that is refused with 422. */
  violations: Violation[];
  /** Names the request in the gateway's log and on the dashboard's page "Rejected requests". */
  requestId: string;
  /** The address of the page that explains the refusal, or empty. */
  help: string;
  /** Seconds to wait before trying again, or 0. */
  retryAfter: number;
}

/** What sends the requests of a Client. */
export declare class Transport {
  /** The gateway, such as https://age.example.com, and svc_test_... or svc_live_... */
  constructor(baseUrl: string, apiKey: string, fetcher?: typeof fetch);
  #private;
  call(method: string, path: string, request?: {
    query?: Record<string, string | number | undefined>;
    headers?: Record<string, string | undefined>;
    body?: unknown;
  }): Promise<any>;
}
