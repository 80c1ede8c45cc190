// A shop that sells one thing to adults, as a handler of fetch: the form in which edge runtimes take a program.
import { Client, verifyRedirect, verifyWebhook } from "@agegate/client";

const orders = new Map(); // session by order
const released = new Set(); // sessions

function release(session) {
  if (![...orders.values()].includes(session) || released.has(session)) return;
  released.add(session);
  console.log("released", session);
}

export default {
  async fetch(request, env) {
    const agegate = new Client(env.AGEGATE_URL, env.AGEGATE_API_KEY);
    const url = new URL(request.url);
    const page = (html) => new Response(html, { headers: { "Content-Type": "text/html; charset=utf-8" } });
    switch (`${request.method} ${url.pathname}`) {
      case "GET /": return page('<form method="post" action="/buy"><button>Buy</button></form>');
      case "GET /cancelled": return page(
        '<p>Your order is not paid. Age not confirmed? Write to us for another way. <a href="/">To the shop</a></p>');
      case "POST /buy": {
        const order = crypto.randomUUID();
        const session = await agegate.createSession(
          { target_age: 18, success_url: `${env.SHOP_URL}/thanks?order=${order}` }, { idempotencyKey: order });
        orders.set(order, session.session_id);
        return new Response(null, { status: 303, headers: {
          "Set-Cookie": `order=${order}; Path=/; HttpOnly; SameSite=Lax`, Location: session.verification_url,
        } });
      }
      case "GET /thanks": {
        const order = url.searchParams.get("order");
        const session = orders.get(order);
        const own = /(?:^|; )order=([^;]+)/.exec(request.headers.get("Cookie") ?? "")?.[1] === order;
        const passed = own && released.has(session)
          || session && await verifyRedirect(url.search.slice(1), session, env.AGEGATE_REDIRECT_SECRET)
            && (await agegate.getSessionStatus(session)).status === "PASSED";
        if (!passed) return new Response("Not verified.", { status: 403 });
        release(session);
        return new Response("Released.");
      }
      case "POST /webhook": {
        const event = await verifyWebhook(request.headers, await request.text(), env.AGEGATE_WEBHOOK_SECRET);
        if (!event) return new Response("Not verified.", { status: 400 });
        if (event.status === "VERIFIED" && event.is_adult && !event.livemode) release(event.session_id);
        return new Response(null, { status: 204 });
      }
    }
    return new Response(null, { status: 404 });
  },
};
