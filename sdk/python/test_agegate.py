import ast
import http.server
import json
import pathlib
import threading
import unittest
import unittest.mock

from agegate import AgegateError, Client, verify_redirect, verify_webhook

VECTORS = json.loads((pathlib.Path(__file__).parent.parent / "vectors.json").read_text(encoding="utf-8"))


def outcome(now, call):
    """What a call gives, at a time: accepted, refused, or an error that names the secret."""
    with unittest.mock.patch("time.time", return_value=now):
        try:
            return "accepted" if call() else "refused"
        except ValueError as error:
            assert "32 bytes" in str(error), error
            return "secret"


class Unions(ast.NodeVisitor):
    """Finds "a | b" where Python evaluates it, which for types it can only since 3.10."""

    found = 0

    def visit_BinOp(self, node):
        self.found += isinstance(node.op, ast.BitOr)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):  # annotations are not evaluated
        if node.value:
            self.visit(node.value)

    def visit_arg(self, node):
        pass

    def visit_FunctionDef(self, node):
        for part in [*node.body, *node.decorator_list, *node.args.defaults]:
            self.visit(part)


class Test(unittest.TestCase):
    def test_python_3_9(self):
        for path in pathlib.Path(__file__).parent.glob("agegate/*.py"):
            tree, unions = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9)), Unions()
            unions.visit(tree)
            self.assertEqual(unions.found, 0, path.name)

    def test_known_answers(self):
        self.assertGreaterEqual(len(VECTORS["redirects"]), 40)
        self.assertGreaterEqual(len(VECTORS["webhooks"]), 25)
        for v in VECTORS["redirects"]:
            got = outcome(v["now"], lambda: verify_redirect(v["query"], v["session"], *v["secrets"]))
            self.assertEqual(got, v["want"], v["name"])
        for v in VECTORS["webhooks"]:
            got = outcome(v["now"], lambda: verify_webhook(v["headers"], v["body"].encode(), v["secret"]))
            self.assertEqual(got, v["want"], v["name"])
        self.assertRaises(ValueError, verify_redirect, "", "", None)
        self.assertRaises(ValueError, verify_webhook, {}, b"", None)
        v = next(v for v in VECTORS["webhooks"] if v["want"] == "accepted")
        for parsed in (json.loads(v["body"]), v["body"], None):
            with self.assertRaisesRegex(TypeError, "pass the raw body"):
                verify_webhook(v["headers"], parsed, v["secret"])

    def answering(self, status, body, headers=None):
        sent = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                read = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                sent.append([self.command, self.path, self.headers["X-API-Key"], self.headers["Idempotency-Key"], read])
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return Client(f"http://127.0.0.1:{server.server_port}/", "svc_test_x"), sent

    def test_requests(self):
        client, sent = self.answering(200, "{}")
        client.create_session({"target_age": 18}, idempotency_key="k1")
        client.get_session_status("a/b")
        client.list_test_events(session_id="s", wait=4)
        client.move_test_clock("s", {"expire": "redirect"})
        self.assertEqual(sent, [
            ["POST", "/api/v1/sessions/create", "svc_test_x", "k1", '{"target_age": 18}'],
            ["GET", "/api/v1/sessions/a%2Fb/status", "svc_test_x", None, ""],
            ["GET", "/api/v1/test/events?session_id=s&wait=4", "svc_test_x", None, ""],
            ["POST", "/api/v1/test/sessions/s/clock", "svc_test_x", None, '{"expire": "redirect"}'],
        ])
        for url, key in [("", "svc_test_x"), ("age.example.com", "svc_test_x"), ("https://age.example.com", ""), (None, None)]:
            self.assertRaises(ValueError, Client, url, key)

    def test_refusals(self):
        for status, body, text in [
            (401, '{"detail":"Invalid API key"}', "401 Invalid API key"),
            (402, '{"detail":{"code":"insufficient_credit","message":"Top up."}}', "402 Top up."),
            (422, '{"detail":[{"type":"missing","loc":["body","target_age"]}]}', "422 missing at body.target_age"),
            (502, "<html>", "502 Bad Gateway"),
        ]:
            client, _ = self.answering(status, body, {"X-Request-ID": "R1", "Retry-After": "5"})
            with self.assertRaises(AgegateError) as refused:
                client.get_session_status("s")
            self.assertEqual(str(refused.exception), f"{text} (request R1)")
            self.assertEqual((refused.exception.request_id, refused.exception.retry_after), ("R1", 5))

    def test_the_help(self):
        client, _ = self.answering(422, '{"detail":[{"type":"missing","loc":["body"]}]}', {
            "Link": '</docs/errors#missing>; rel="help", </docs/errors#extra>; rel="help"'})
        with self.assertRaises(AgegateError) as refused:
            client.get_session_status("s")
        self.assertEqual(str(refused.exception), f"422 missing at body, see {client._base_url}/docs/errors#missing")

    def test_the_key_goes_nowhere_else(self):
        elsewhere, reached = self.answering(200, "{}")
        client, _ = self.answering(302, "", {"Location": elsewhere._base_url})
        with self.assertRaises(AgegateError) as refused:
            client.get_session_status("s")
        self.assertEqual((refused.exception.status, reached), (302, []))


if __name__ == "__main__":
    unittest.main()
