<?php
// shop.php

// A shop that sells one thing to adults: php -S "localhost:$PORT" shop.php
declare(strict_types=1);

use Agegate\AgegateException;
use Psr\Http\Client\ClientExceptionInterface;
use function Agegate\verifyRedirect;
use function Agegate\verifyWebhook;

require getenv("AUTOLOAD") ?: "vendor/autoload.php";

const STORE = __DIR__ . "/orders.json"; // a real shop has a database

/** Lets $change alter the shop's orders, alone: the session by order, and the sessions that were released. */
function change(callable $change): mixed
{
    $file = fopen(STORE, "c+");
    flock($file, LOCK_EX);
    $shop = json_decode(stream_get_contents($file) ?: "null", true) ?? ["orders" => [], "released" => []];
    $result = $change($shop);
    rewind($file);
    ftruncate($file, 0);
    fwrite($file, json_encode($shop, JSON_THROW_ON_ERROR));
    fclose($file);
    return $result;
}

/** Ships an order once, whichever proof of its pass comes first. */
function release(string $session): void
{
    change(function (array &$shop) use ($session): void {
        $order = array_search($session, $shop["orders"], true);
        if ($order !== false && !in_array($session, $shop["released"], true)) {
            $shop["released"][] = $session;
            error_log("released $order");
        }
    });
}

function answer(int $status, string $text = ""): void
{
    http_response_code($status);
    echo $text;
}

function buy(): void
{
    $factory = new GuzzleHttp\Psr7\HttpFactory();
    $http = new GuzzleHttp\Client(["timeout" => 15]);
    $agegate = new Agegate\Client(getenv("AGEGATE_URL"), getenv("AGEGATE_API_KEY"), $http, $factory, $factory);
    $order = bin2hex(random_bytes(16));
    try {
        $url = getenv("SHOP_URL") . "/thanks?order=$order";
        $session = $agegate->createSession(["target_age" => 18, "success_url" => $url], idempotencyKey: $order);
    } catch (AgegateException | ClientExceptionInterface $error) {
        error_log($error->getMessage()); // says the gateway's detail and the request's ID
        answer(502, "Please try again.");
        return;
    }
    change(function (array &$shop) use ($order, $session): void {
        $shop["orders"][$order] = $session["session_id"];
    });
    setcookie("order", $order, ["path" => "/", "httponly" => true, "samesite" => "Lax"]);
    header("Location: " . $session["verification_url"], response_code: 303);
}

function thanks(): void
{
    $order = is_string($_GET["order"] ?? null) ? $_GET["order"] : "";
    // The session stored with the order, never one from the address.
    $session = change(fn(array $shop): string => $shop["orders"][$order] ?? "");
    // Released by the webhook, or before this browser loaded the page again.
    $own = ($_COOKIE["order"] ?? "") === $order;
    $passed = $own && change(fn(array $shop): bool => in_array($session, $shop["released"], true))
        || $session !== "" && verifyRedirect($_SERVER["QUERY_STRING"] ?? "", $session, getenv("AGEGATE_REDIRECT_SECRET"));
    if (!$passed) {
        answer(403, "Not verified.");
        return;
    }
    release($session);
    answer(200, "Released.");
}

function webhook(): void
{
    $event = verifyWebhook(getallheaders(), file_get_contents("php://input"), getenv("AGEGATE_WEBHOOK_SECRET"));
    if ($event === null) {
        answer(400, "Not verified.");
        return;
    }
    $live = str_starts_with(getenv("AGEGATE_API_KEY"), "svc_live_");
    if ($event["status"] === "VERIFIED" && $event["is_adult"] === true && $event["livemode"] === $live) {
        release($event["session_id"]);
    }
    http_response_code(204);
}

match ($_SERVER["REQUEST_METHOD"] . " " . parse_url($_SERVER["REQUEST_URI"], PHP_URL_PATH)) {
    "GET /" => answer(200, '<form method="post" action="/buy"><button>Buy</button></form>'),
    "POST /buy" => buy(),
    "GET /thanks" => thanks(),
    "GET /cancelled" => answer(200,
        '<p>Your order is not paid. Age not confirmed? Write to us for another way. <a href="/">To the shop</a></p>'),
    "POST /webhook" => webhook(),
    default => answer(404),
};
