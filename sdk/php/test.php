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
            same([$text, $status, "R1", 5], [$error->getMessage(), $error->status, $error->requestId, $error->retryAfter], $text);
            same($status === 402 ? "insufficient_credit" : null, $error->errorCode, $text);
        }
    }
    echo "ok\n";
}
