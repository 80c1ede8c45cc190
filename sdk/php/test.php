<?php
// Tests the client as it is: php test.php. AUTOLOAD names what loads it and an HTTP client.

namespace Agegate {
    /** The time of the known answer that is tried. */
    function time(): int
    {
        return $GLOBALS["now"];
    }
}

namespace {
    use Agegate\AgegateException;
    use Agegate\Client;
    use Psr\Http\Client\ClientInterface;
    use Psr\Http\Message\RequestInterface;
    use Psr\Http\Message\ResponseInterface;
    use GuzzleHttp\Psr7\HttpFactory;
    use GuzzleHttp\Psr7\Response;

    require getenv("AUTOLOAD");

    function same(mixed $want, mixed $got, string $what): void
    {
        if ($want !== $got) {
            throw new Exception("$what: got " . json_encode($got) . ", want " . json_encode($want));
        }
    }

    /** What a call gives: accepted, refused, or an error that names the secret. */
    function outcome(callable $call): string
    {
        try {
            return $call() ? "accepted" : "refused";
        } catch (InvalidArgumentException $error) {
            same(true, str_contains($error->getMessage(), "32 bytes"), $error->getMessage());
            return "secret";
        }
    }

    /** Answers every request alike, and keeps what was sent. */
    final class Answering implements ClientInterface
    {
        public array $sent = [];

        public function __construct(private ResponseInterface $response)
        {
        }

        public function sendRequest(RequestInterface $request): ResponseInterface
        {
            $this->sent[] = [$request->getMethod(), (string) $request->getUri(), $request->getHeaderLine("X-API-Key"),
                $request->getHeaderLine("Idempotency-Key"), (string) $request->getBody()];
            return $this->response;
        }

        public function client(string $url = "http://age.example/", string $key = "svc_test_x"): Client
        {
            return new Client($url, $key, $this, new HttpFactory(), new HttpFactory());
        }
    }

    $vectors = json_decode(file_get_contents(__DIR__ . "/../vectors.json"), true, flags: JSON_THROW_ON_ERROR);
    same(true, count($vectors["redirects"]) >= 40 && count($vectors["webhooks"]) >= 25, "the number of known answers");
    foreach ($vectors["redirects"] as $v) {
        $now = $v["now"];
        same($v["want"], outcome(fn() => Agegate\verifyRedirect($v["query"], $v["session"], ...$v["secrets"])), $v["name"]);
    }
    foreach ($vectors["webhooks"] as $v) {
        $now = $v["now"];
        same($v["want"], outcome(fn() => Agegate\verifyWebhook($v["headers"], $v["body"], $v["secret"])), $v["name"]);
        $lists = array_map(fn($value) => [$value], $v["headers"]); // as PSR-7 has them
        same($v["want"], outcome(fn() => Agegate\verifyWebhook($lists, $v["body"], $v["secret"])), $v["name"] . ", lists");
    }

    $good = $vectors["webhooks"][0];
    $now = $good["now"];
    $why = "not asked";
    $wordPress = []; // its WP_REST_Request::get_headers()
    foreach ($good["headers"] as $name => $value) {
        $wordPress[strtr($name, "-", "_")] = [$value];
    }
    $event = Agegate\verifyWebhook($wordPress, $good["body"], $good["secret"], $why);
    same($good["body"], json_encode($event), "the headers of WordPress");
    same(null, $why, "of a good delivery");
    $sign = function (string $body) use ($good): array {
        $text = $good["headers"]["webhook-id"] . "." . $good["headers"]["webhook-timestamp"] . "." . $body;
        $mac = hash_hmac("sha256", $text, base64_decode(substr($good["secret"], 6)), true);
        return [["webhook-signature" => "v1," . base64_encode($mac)] + $good["headers"], $body];
    };
    $late = ["webhook-timestamp" => (string) ($now - 301)] + $good["headers"];
    foreach ([
        "missing" => [[["webhook-id" => ""] + $good["headers"], "{}"], [[], "{}"],
            [array_diff_key($good["headers"], ["webhook-signature" => 0]), $good["body"]]],
        "clock" => [[$late, $good["body"]], [["webhook-timestamp" => "x"] + $good["headers"], $good["body"]]],
        "no signature" => [[$good["headers"], $good["body"] . " "], [$good["headers"], "{"]],
        "not an event" => array_map($sign, ["", "{", "null", "1", '"x"', "[]", "{}", "[" . $good["body"] . "]", "\xff",
            str_replace("true", '"true"', $good["body"]), str_repeat("[", 1000)]),
    ] as $part => $deliveries) {
        foreach ($deliveries as [$headers, $body]) {
            same(null, Agegate\verifyWebhook($headers, $body, $good["secret"], $why), "the body $body");
            same(true, str_contains($why, $part), "why the body $body is refused: $why");
        }
    }

    // Two plug-ins that each bring a copy.
    $copies = sys_get_temp_dir() . "/agegate-" . bin2hex(random_bytes(8));
    mkdir($copies);
    foreach (["redirect.php", "webhook.php"] as $name) {
        copy(__DIR__ . "/src/$name", "$copies/$name");
        require "$copies/$name";
        unlink("$copies/$name");
    }
    rmdir($copies);

    $shop = new Answering(new Response(200, [], "{}"));
    $client = $shop->client();
    $client->createSession(["target_age" => 18], idempotencyKey: "k1");
    $client->getSessionStatus("a/b");
    $client->listTestEvents(sessionId: "s", wait: 4);
    $client->moveTestClock("s", ["expire" => "redirect"]);
    same([
        ["POST", "http://age.example/api/v1/sessions/create", "svc_test_x", "k1", '{"target_age":18}'],
        ["GET", "http://age.example/api/v1/sessions/a%2Fb/status", "svc_test_x", "", ""],
        ["GET", "http://age.example/api/v1/test/events?session_id=s&wait=4", "svc_test_x", "", ""],
        ["POST", "http://age.example/api/v1/test/sessions/s/clock", "svc_test_x", "", '{"expire":"redirect"}'],
    ], $shop->sent, "the requests");
    $sender = new class implements Agegate\Sender {
        public array $sent = [], $answer = [201, ["x-request-id" => "R2"], "{}"];

        public function send(string $method, string $url, array $headers, string $body): array
        {
            $this->sent[] = [$method, $url, $headers, $body];
            return $this->answer;
        }
    };
    $own = new Client("http://age.example", "svc_test_x", $sender);
    same([], $own->createSession(["target_age" => 18], idempotencyKey: "k1"), "a sender's answer");
    $sender->answer = [429, ["X-Request-ID" => "R2", "retry-after" => "7"], '{"detail":"Slow down"}'];
    try {
        $own->getSessionStatus("s");
        same("refused", "accepted", "a sender's refusal");
    } catch (AgegateException $error) {
        $got = [$error->getMessage(), $error->requestId, $error->retryAfter];
        same(["429 Slow down (request R2)", "R2", 7], $got, "a sender's refusal");
    }
    same([
        ["POST", "http://age.example/api/v1/sessions/create",
            ["Idempotency-Key" => "k1", "X-API-Key" => "svc_test_x", "Content-Type" => "application/json"],
            '{"target_age":18}'],
        ["GET", "http://age.example/api/v1/sessions/s/status", ["X-API-Key" => "svc_test_x"], ""],
    ], $sender->sent, "a sender's requests");
    try {
        new Client("http://age.example", "svc_test_x", $shop);
        same("refused", "accepted", "a client without factories");
    } catch (InvalidArgumentException) {
    }
    foreach ([["", "svc_test_x"], ["age.example.com", "svc_test_x"], ["https://age.example.com", ""]] as [$url, $key]) {
        try {
            $shop->client($url, $key);
            same("refused", "accepted", "the address $url");
        } catch (InvalidArgumentException) {
        }
    }

    foreach ([
        [302, "", "302 Found"],
        [401, '{"detail":"Invalid API key"}', "401 Invalid API key"],
        [402, '{"detail":{"code":"insufficient_credit","message":"Top up."}}', "402 Top up."],
        [422, '{"detail":[{"type":"missing","loc":["body","target_age"]}]}', "422 missing at body.target_age"],
        [502, "<html>", "502 Bad Gateway"],
        [200, "<html>", "200 OK"],
    ] as [$status, $body, $text]) {
        $refusing = new Answering(new Response($status, ["X-Request-ID" => "R1", "Retry-After" => "5"], $body));
        try {
            $refusing->client()->getSessionStatus("s");
            same("refused", "accepted", $text);
        } catch (AgegateException $error) {
            same(["$text (request R1)", $status, "R1", 5], [$error->getMessage(), $error->status, $error->requestId, $error->retryAfter], $text);
            same($status === 402 ? "insufficient_credit" : null, $error->errorCode, $text);
        }
    }
    $helping = new Answering(new Response(401, ["Link" => '</docs/errors#invalid>; rel="help", </docs/errors>; rel="help"'], "{}"));
    try {
        $helping->client()->getSessionStatus("s");
        same("refused", "accepted", "help");
    } catch (AgegateException $error) {
        same("401 Unauthorized, see http://age.example/docs/errors#invalid", $error->getMessage(), "help");
    }
    echo "ok\n";
}
