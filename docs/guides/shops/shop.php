<?php
// A shop that sells one thing to adults, in PHP 8.1 or newer without Composer: php -S "localhost:$PORT" shop.php
declare(strict_types=1);

/** The 32 bytes of a secret. An empty or damaged one is refused: under it, anybody could sign. */
function keyOf(string $variable, string $prefix): string
{
    if (!preg_match("~^$prefix([A-Za-z0-9+/]{43}=)$~D", (string) getenv($variable), $found)) {
        throw new LogicException("$variable must be $prefix and 32 bytes in base64");
    }
    return base64_decode($found[1]);
}

define("REDIRECT_KEY", keyOf("AGEGATE_REDIRECT_SECRET", "rdsec_(?:test|live)_"));
define("WEBHOOK_KEY", keyOf("AGEGATE_WEBHOOK_SECRET", "whsec_"));
const STORE = "orders.json"; // a real shop has a database

/** Lets $change alter the shop's orders, alone: each is [browser, number, session, how often it was released]. */
function change(callable $change): mixed
{
    $file = fopen(STORE, "c+");
    flock($file, LOCK_EX);
    $orders = json_decode(stream_get_contents($file) ?: "[]", true);
    $result = $change($orders);
    rewind($file);
    ftruncate($file, 0);
    fwrite($file, json_encode($orders, JSON_THROW_ON_ERROR));
    fclose($file);
    return $result;
}

/** Sends a request to the gateway. Every answer but a success is an error with the gateway's detail and the request's ID. */
function call(string $method, string $path, string $body = "", array $headers = []): array
{
    $http = ["method" => $method, "content" => $body, "timeout" => 15, "ignore_errors" => true, "follow_location" => 0,
        "header" => ["X-API-Key: " . getenv("AGEGATE_API_KEY"), ...$headers]];
    $context = stream_context_create(["http" => $http]);
    $answer = @file_get_contents(getenv("AGEGATE_URL") . "/api/v1/sessions/$path", false, $context);
    $status = (int) (explode(" ", $http_response_header[0] ?? "")[1] ?? 0);
    $given = $answer === false ? null : json_decode($answer, true);
    if ($status < 200 || $status > 299 || !is_array($given)) {
        $request = implode(preg_grep("~^X-Request-ID:~i", $http_response_header ?? []));
        throw new RuntimeException("The gateway answers $status: $answer $request");
    }
    return $given;
}

/**
 * Whether a redirect to the Success URL proves the pass of the session that the shop created for this shopper.
 * $queryString is what follows the "?" of the address, as received.
 */
function redirectProves(string $queryString, string $session): bool
{
    $query = [];
    foreach (explode("&", $queryString) as $pair) {
        [$name, $value] = array_map(urldecode(...), explode("=", $pair, 2) + ["", ""]);
        $query[$name][] = $value;
    }
    $values = [];
    foreach (["session", "status", "is_adult", "token"] as $name) {
        if (count($query[$name] ?? []) !== 1) {
            return false;
        }
        $values[] = $query[$name][0];
    }
    [$given, $status, $isAdult, $token] = $values;
    if (!preg_match('~^([0-9]{1,15})\.[\w-]{43}$~D', $token, $parts)) {
        return false;
    }
    $text = implode("|", [$given, $status, $isAdult, $parts[1]]);
    $mac = base64_encode(hash_hmac("sha256", $text, REDIRECT_KEY, true));
    $wanted = "$parts[1]." . rtrim(strtr($mac, "+/", "-_"), "=");
    return hash_equals($wanted, $token) && time() <= (int) $parts[1]
        && $given === $session && $status === "VERIFIED" && $isAdult === "true";
}

/** The event of a webhook, or null if the delivery does not verify. $body is what was received. */
function eventOf(string $body): ?array
{
    $header = fn(string $name): string => $_SERVER["HTTP_WEBHOOK_$name"] ?? "";
    if (!preg_match('~^[0-9]{1,15}$~D', $header("TIMESTAMP")) || abs(time() - (int) $header("TIMESTAMP")) > 300) {
        return null;
    }
    $signed = "{$header("ID")}.{$header("TIMESTAMP")}.$body";
    $wanted = "v1," . base64_encode(hash_hmac("sha256", $signed, WEBHOOK_KEY, true));
    foreach (explode(" ", $header("SIGNATURE")) as $signature) {
        if (hash_equals($wanted, $signature)) {
            return json_decode($body, true);
        }
    }
    return null;
}

/** Ships an order once, whichever proof of its pass comes first. */
function release(string $session): void
{
    change(function (array &$orders) use ($session): void {
        foreach ($orders as &$order) {
            if ($order["session"] === $session && $order["released"] === 0) {
                $order["released"]++;
                error_log("released $session");
            }
        }
    });
}

/** The order that has a value, such as its number or its session. */
function orderOf(string $name, mixed $value): ?array
{
    $found = array_filter(change(fn(array $orders): array => $orders), fn(array $its): bool => $its[$name] === $value);
    return array_pop($found);
}

/** Whether this browser began an order. */
function own(array $order): bool
{
    return $order["browser"] === ($_COOKIE["browser"] ?? "");
}

function answer(int $status, string $text = ""): void
{
    http_response_code($status);
    echo $text;
}

function buy(): void
{
    $number = bin2hex(random_bytes(16)); // one for each order
    $request = ["target_age" => 18, "success_url" => getenv("SHOP_URL") . "/thanks?order=$number"];
    $session = call("POST", "create", json_encode($request),
        ["Content-Type: application/json", "Idempotency-Key: $number"]);
    $browser = $_COOKIE["browser"] ?? bin2hex(random_bytes(16));
    change(function (array &$orders) use ($browser, $number, $session): void {
        $orders[] = ["browser" => $browser, "number" => $number, "session" => $session["session_id"], "released" => 0];
    });
    setcookie("browser", $browser, ["path" => "/", "httponly" => true, "samesite" => "Lax"]);
    header("Location: " . $session["verification_url"], response_code: 303);
    echo json_encode(["session_id" => $session["session_id"], "order" => $number]); // for agegate-dev certify
}

function thanks(): void
{
    $order = orderOf("number", $_GET["order"] ?? null); // its session is never one from the address
    // By the webhook, or before this browser loaded the page again.
    $released = $order !== null && own($order) && $order["released"] > 0;
    if ($order === null || !$released && !redirectProves($_SERVER["QUERY_STRING"] ?? "", $order["session"])) {
        answer(403, "Not verified.");
        return;
    }
    release($order["session"]);
    answer(200, "Released.");
}

function webhook(): void
{
    $event = eventOf(file_get_contents("php://input"));
    $live = str_starts_with(getenv("AGEGATE_API_KEY"), "svc_live_");
    $passed = ($event["status"] ?? "") === "VERIFIED" && $event["is_adult"] === true;
    if ($passed && $event["livemode"] === $live) {
        release($event["session_id"]);
    }
    http_response_code($event === null ? 400 : 204);
}

/** GET /orders/{session} looks the status up now; GET /orders/{session}/released, for agegate-dev certify, does not. */
function orders(string $session, bool $look): void
{
    $order = orderOf("session", $session);
    if ($order === null || !own($order)) {
        answer(404);
        return;
    }
    if ($look && call("GET", "$session/status")["status"] === "PASSED") {
        release($session);
    }
    answer(200, json_encode(["released" => orderOf("session", $session)["released"]]));
}

try {
    $path = explode("/", parse_url($_SERVER["REQUEST_URI"], PHP_URL_PATH));
    match ("{$_SERVER["REQUEST_METHOD"]} /$path[1]") {
        "GET /" => answer(200, '<form method="post" action="/buy"><button>Buy</button></form>'),
        "POST /buy" => buy(),
        "GET /thanks" => thanks(),
        "POST /webhook" => webhook(),
        "GET /orders" => orders($path[2] ?? "", !isset($path[3])),
        "GET /cancelled" => answer(200,
            '<p>Your order is not paid. Age not confirmed? Write to us for another way. <a href="/">To the shop</a></p>'),
        default => answer(404),
    };
} catch (RuntimeException $error) {
    error_log($error->getMessage()); // says the gateway's detail and the request's ID
    answer(502, "Please try again.");
}
