# Serves the handler of worker.mjs with workerd, which takes modules by name instead of from node_modules.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "shop", worker = .shop),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", http = (), service = "shop")],
);

const shop :Workerd.Worker = (
  compatibilityDate = "2026-01-01",
  modules = [
    (name = "worker", esModule = embed "worker.mjs"),
    (name = "@agegate/client", esModule = "export * from './client/index.js';"),
    (name = "@agegate/client/index.js", esModule = embed "node_modules/@agegate/client/index.js"),
    (name = "@agegate/client/client.js", esModule = embed "node_modules/@agegate/client/client.js"),
    (name = "@agegate/client/redirect.js", esModule = embed "node_modules/@agegate/client/redirect.js"),
    (name = "@agegate/client/transport.js", esModule = embed "node_modules/@agegate/client/transport.js"),
    (name = "@agegate/client/webhook.js", esModule = embed "node_modules/@agegate/client/webhook.js"),
  ],
  bindings = [
    (name = "AGEGATE_URL", fromEnvironment = "AGEGATE_URL"),
    (name = "AGEGATE_API_KEY", fromEnvironment = "AGEGATE_API_KEY"),
    (name = "AGEGATE_REDIRECT_SECRET", fromEnvironment = "AGEGATE_REDIRECT_SECRET"),
    (name = "AGEGATE_WEBHOOK_SECRET", fromEnvironment = "AGEGATE_WEBHOOK_SECRET"),
    (name = "SHOP_URL", fromEnvironment = "SHOP_URL"),
  ],
);
