// shop.mjs
// A shop that sells one thing to adults.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { Client, verifyRedirect, verifyWebhook } from "@agegate/client";

const { AGEGATE_URL, AGEGATE_API_KEY, AGEGATE_REDIRECT_SECRET, AGEGATE_WEBHOOK_SECRET, SHOP_URL, PORT } = process.env;
const agegate = new Client(AGEGATE_URL, AGEGATE_API_KEY);
const orders = new Map(); // session by order; a real shop has a database
const released = new Set(); // sessions

const page = (response, html) => response.setHeader("Content-Type", "text/html; charset=utf-8").end(html);

const routes = {
  "GET /": (request, response) => page(response, '<form method="post" action="/buy"><button>Buy</button></form>'),

  // Your Cancel URL.
  "GET /cancelled": (request, response) => page(response,
    '<p>Your order is not paid. Age not confirmed? Write to us for another way. <a href="/">To the shop</a></p>'),

  async "POST /buy"(request, response) {
    const order = randomUUID();
    const session = await agegate.createSession(
      { target_age: 18, success_url: `${SHOP_URL}/thanks?order=${order}` }, { idempotencyKey: order });
    orders.set(order, session.session_id);
    response.writeHead(303, {
      "Set-Cookie": `order=${order}; Path=/; HttpOnly; SameSite=Lax`, Location: session.verification_url,
    }).end();
  },

  async "GET /thanks"(request, response, url) {
    const order = url.searchParams.get("order");
    const session = orders.get(order); // the one stored with the order, never one from the address
    const own = /(?:^|; )order=([^;]+)/.exec(request.headers.cookie ?? "")?.[1] === order;
    const passed = own && released.has(session) // by the webhook, or before the page was loaded again
      || session && await verifyRedirect(url.search.slice(1), session, AGEGATE_REDIRECT_SECRET);
    if (!passed) return response.writeHead(403).end("Not verified.");
    release(session);
    response.end("Released.");
  },

  async "POST /webhook"(request, response) {
    const event = await verifyWebhook(request.headers, await text(request), AGEGATE_WEBHOOK_SECRET);
    if (!event) return response.writeHead(400).end("Not verified.");
    const live = AGEGATE_API_KEY.startsWith("svc_live_");
    if (event.status === "VERIFIED" && event.is_adult === true && event.livemode === live) release(event.session_id);
    response.writeHead(204).end();
  },
};

/** Ships an order once, whichever proof of its pass comes first. */
function release(session) {
  const order = [...orders].find(([, its]) => its === session)?.[0];
  if (!order || released.has(session)) return;
  released.add(session);
  console.log("released", order);
}

createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  try {
    const route = routes[`${request.method} ${url.pathname}`];
    if (route) await route(request, response, url);
    else response.writeHead(404).end();
  } catch (error) {
    console.error(error.message); // says the gateway's detail and the request's ID
    response.writeHead(502).end("Please try again.");
  }
}).listen(Number(PORT), "localhost");
