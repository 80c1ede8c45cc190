// Serves the handler of worker.mjs with Bun or Deno.
import process from "node:process";
import worker from "./worker.mjs";

const address = { hostname: "127.0.0.1", port: Number(process.env.PORT) };
const handler = (request) => worker.fetch(request, process.env);
if (globalThis.Bun) Bun.serve({ ...address, fetch: handler });
else Deno.serve(address, handler);
