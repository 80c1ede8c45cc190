// The gateway, a tenant and a browser that all tests of a file share.
import { launch } from "./browser.mjs";
import { startGateway } from "./gateway.mjs";
import { after, before } from "./row.mjs";

export let gateway, tenant, browser;

before(async () => {
  gateway = await startGateway();
  tenant = gateway.tenant();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await gateway?.stop();
});
