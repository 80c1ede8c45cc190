# shop.py
"""A shop that sells one thing to adults."""
import os
import threading
import uuid
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from agegate import AgegateError, Client, verify_redirect, verify_webhook

AGEGATE_API_KEY = os.environ["AGEGATE_API_KEY"]
agegate = Client(os.environ["AGEGATE_URL"], AGEGATE_API_KEY)
PAGES = {
    "/": '<form method="post" action="/buy"><button>Buy</button></form>',
    "/cancelled": '<p>Your order is not paid. Age not confirmed? Write to us for another way. '
        '<a href="/">To the shop</a></p>',
}
lock = threading.Lock()
orders = {}  # session by order; a real shop has a database
released = set()  # sessions


def release(session):
    """Ships an order once, whichever proof of its pass comes first."""
    with lock:
        order = next((order for order, its in orders.items() if its == session), None)
        if order and session not in released:
            released.add(session)
            print("released", order, flush=True)


class Shop(BaseHTTPRequestHandler):
    def answer(self, status, text="", **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/buy":
            return self.buy()
        if self.path != "/webhook":
            return self.answer(404)
        event = verify_webhook(self.headers, body, os.environ["AGEGATE_WEBHOOK_SECRET"])
        if event is None:
            return self.answer(400, "Not verified.")
        live = AGEGATE_API_KEY.startswith("svc_live_")
        if event["status"] == "VERIFIED" and event["is_adult"] is True and event["livemode"] == live:
            release(event["session_id"])
        self.answer(204)

    def buy(self):
        order = str(uuid.uuid4())
        try:
            url = f"{os.environ['SHOP_URL']}/thanks?order={order}"
            session = agegate.create_session({"target_age": 18, "success_url": url}, idempotency_key=order)
        except (AgegateError, OSError) as error:
            print(error, flush=True)  # says the gateway's detail and the request's ID
            return self.answer(502, "Please try again.")
        with lock:
            orders[order] = session["session_id"]
        self.answer(303, Set_Cookie=f"order={order}; Path=/; HttpOnly; SameSite=Lax", Location=session["verification_url"])

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path in PAGES:
            return self.answer(200, PAGES[path], Content_Type="text/html; charset=utf-8")
        order = parse_qs(query).get("order", [""])[0]
        session = orders.get(order)  # the one stored with the order, never one from the address
        cookie = SimpleCookie(self.headers.get("Cookie")).get("order")
        if path != "/thanks":
            self.answer(404)
        elif cookie and cookie.value == order and session in released:  # by the webhook, or before the page was loaded again
            self.answer(200, "Released.")
        elif session and verify_redirect(query, session, os.environ["AGEGATE_REDIRECT_SECRET"]):
            release(session)
            self.answer(200, "Released.")
        else:
            self.answer(403, "Not verified.")


ThreadingHTTPServer(("localhost", int(os.environ["PORT"])), Shop).serve_forever()
