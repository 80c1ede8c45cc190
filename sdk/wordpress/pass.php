<?php
// A visitor's pass: how it is got, kept and checked.
declare(strict_types=1);

namespace Agegate\WordPress;

const VISIT = 1800; // seconds that a session lasts at the gateway

/** Signs a text for one purpose at this site, for its age and mode. */
function mac(string $purpose, string $text): string
{
    $bound = implode("|", [$purpose, get_option("home"), setting("age"), live() ? "live" : "test", $text]);
    return hash_hmac("sha256", $bound, get_option("agegate_secret") ?: random_bytes(32));
}

/** The name of a cookie, which tells sites of one host apart, those of a network too. */
function cookieName(string $name): string
{
    return (wp_is_using_https() ? "__Host-" : "") . "agegate_{$name}_" . md5(get_option("home"));
}

/** Keeps a signed text in the browser until a time. */
function keep(string $name, string $text, int $until): void
{
    setcookie(cookieName($name), "$text." . mac($name, $text), ["expires" => $until, "path" => "/",
        "secure" => wp_is_using_https(), "httponly" => true, "samesite" => "Lax"]);
}

/** The text that keep() has kept in this browser, or "". */
function kept(string $name): string
{
    $value = $_COOKIE[cookieName($name)] ?? "";
    $dot = is_string($value) ? strrpos($value, ".") : false;
    if ($dot === false || !hash_equals(mac($name, substr($value, 0, $dot)), substr($value, $dot + 1))) {
        return "";
    }
    return substr($value, 0, $dot);
}

/** Whether this browser or this account has a pass that has not ended. */
function hasPass(): bool
{
    $until = (int) kept("pass");
    $now = time();
    if ($until > $now && $until <= $now + setting("keep") * HOUR_IN_SECONDS) {
        return true;
    }
    $user = get_current_user_id();
    if ($user === 0) {
        return false;
    }
    $checked = get_user_option("agegate", $user);
    return in_array($user, setting("members"), true)
        || is_array($checked) && $checked["live"] === live() && $checked["age"] >= setting("age")
        && $now < $checked["at"] + setting("account") * DAY_IN_SECONDS;
}

/** The session that this browser has begun: its ID s, its page url, where the visitor goes then to, and its end. */
function visit(): ?array
{
    $visit = json_decode(base64_decode(kept("visit")) ?: "null", true);
    return is_array($visit) && $visit["until"] > time() ? $visit : null;
}

/** Sends the visitor elsewhere, uncached. */
function go(string $url): never
{
    unstored();
    header("Location: " . sanitize_url($url), true, 303);
    exit;
}

/** Lets no cache store the answer, neither a shared one nor a plug-in's. */
function unstored(): void
{
    defined("DONOTCACHEPAGE") || define("DONOTCACHEPAGE", true);
    headers_sent() || header("Cache-Control: private, no-store");
}

/**
 * Counts one under a name, and reports whether it was below the limit. One statement compares and counts, so that
 * it holds for presses at once.
 */
function takes(string $name, int $limit): bool
{
    global $wpdb;
    $now = time();
    $wpdb->query($wpdb->prepare("INSERT INTO " . table() . " (k, n, until) VALUES (%s, 0, %d) ON DUPLICATE KEY UPDATE
        n = IF(until < %d, 0, n), until = IF(until < %d, VALUES(until), until)", $name, $now + VISIT, $now, $now));
    return $wpdb->query($wpdb->prepare("UPDATE " . table() . " SET n = n + 1 WHERE k = %s AND n < %d", $name,
        $limit)) === 1;
}

/** The visitor's network, a /64 of IPv6, as a name that tells nobody its address. */
function network(): string
{
    $address = inet_pton((string) apply_filters("agegate_address", $_SERVER["REMOTE_ADDR"] ?? "")) ?: "";
    return "n:" . substr(mac("network", bin2hex(strlen($address) === 16 ? substr($address, 0, 8) : $address)), 0, 32);
}

/** Gives the pass of a session that has passed, once, and to the account that began it. */
function grant(array $visit): bool
{
    global $wpdb;
    if (!$wpdb->query($wpdb->prepare("UPDATE " . table() . " SET n = 2 WHERE k = %s AND n < 2", "s:" . $visit["s"]))) {
        return false;
    }
    $until = time() + setting("keep") * HOUR_IN_SECONDS;
    keep("pass", (string) $until, $until);
    remember((int) $visit["user"] === get_current_user_id() ? (int) $visit["user"] : 0);
    return true;
}

/** Notes with an account that it has passed. */
function remember(int $user): void
{
    if ($user !== 0 && setting("account") > 0) {
        update_user_option($user, "agegate", ["at" => time(), "age" => setting("age"), "live" => live()]);
    }
}

/** The button: sends the visitor to a session, the open one or a new one. */
function begin(): never
{
    $home = wp_parse_url(get_option("home"));
    $origin = $home["scheme"] . "://" . $home["host"] . (isset($home["port"]) ? ":" . $home["port"] : "");
    if ($_SERVER["REQUEST_METHOD"] !== "POST" || ($_SERVER["HTTP_ORIGIN"] ?? $origin) !== $origin
        || !in_array($_SERVER["HTTP_SEC_FETCH_SITE"] ?? "same-origin", ["same-origin", "none"], true)) {
        page(403, __("Please press the button on this site.", "agegate"));
    }
    $to = wp_validate_redirect(is_string($_POST["to"] ?? null) ? wp_unslash($_POST["to"]) : "", home_url("/"));
    $visit = visit();
    if (hasPass()) {
        go($to);
    }
    if ($visit !== null) {
        $state = call("GET", "/api/v1/sessions/" . $visit["s"] . "/status")[1]["status"] ?? "";
        if ($state === "PENDING" || $state === "PASSED" && grant($visit)) {
            go($state === "PENDING" ? $visit["url"] : $to);
        }
    }
    if (!takes(network(), setting("network")) || !takes("all", setting("limit"))) {
        header("Retry-After: " . VISIT);
        page(429, __("Too many checks were begun. Please try again later.", "agegate"));
    }
    [$status, $made] = call("POST", "/api/v1/sessions/create", ["target_age" => setting("age"),
        "success_url" => add_query_arg("agegate", "return", home_url("/")), "cancel_url" => home_url("/")]);
    if ($status !== 201) {
        error_log("agegate: a session was refused: $status " . wp_json_encode($made["detail"] ?? ""));
        page(502, __("The age check cannot be reached. Please try again later.", "agegate"));
    }
    $user = get_current_user_id();
    $GLOBALS["wpdb"]->insert(table(), ["k" => "s:" . $made["session_id"], "n" => 0, "user" => $user,
        "until" => time() + 2 * VISIT]);
    $until = time() + VISIT;
    keep("visit", base64_encode(wp_json_encode(["s" => $made["session_id"], "url" => $made["verification_url"],
        "to" => $to, "user" => $user, "until" => $until])), $until);
    go($made["verification_url"]);
}

/** The Success URL. A visitor who has a pass goes on, whatever the address says. */
function comeBack(): never
{
    $visit = visit();
    if (hasPass() || $visit !== null && setting("redirect") !== ""
        && \Agegate\verifyRedirect($_SERVER["QUERY_STRING"] ?? "", $visit["s"], setting("redirect")) && grant($visit)) {
        go($visit["to"] ?? home_url("/"));
    }
    page(403, __("Your age could not be confirmed here. Please press the button again, in this browser.", "agegate"));
}

/** The Webhook URL: it tells of a pass also when the browser was closed. */
function hook(\WP_REST_Request $request): \WP_REST_Response
{
    global $wpdb;
    try {
        $event = \Agegate\verifyWebhook($request->get_headers(), $request->get_body(), setting("webhook"), $why);
    } catch (\InvalidArgumentException $error) {
        [$event, $why] = [null, $error->getMessage()];
    }
    if ($event === null) {
        error_log("agegate: a webhook was refused: $why");
        return new \WP_REST_Response(["refused" => $why], 400);
    }
    if ($event["status"] === "VERIFIED" && $event["is_adult"] && $event["livemode"] === live()) {
        $name = "s:" . $event["session_id"];
        if ($wpdb->query($wpdb->prepare("UPDATE " . table() . " SET n = 1 WHERE k = %s AND n = 0", $name))) {
            remember((int) $wpdb->get_var($wpdb->prepare("SELECT user FROM " . table() . " WHERE k = %s", $name)));
        }
    }
    return new \WP_REST_Response(null, 204);
}

add_action("rest_api_init", fn() => register_rest_route("agegate/v1", "/webhook",
    ["methods" => "POST", "callback" => hook(...), "permission_callback" => "__return_true"]));

// ?agegate=auth is what a proxy asks about files that go round PHP.
add_action("wp_loaded", function (): void {
    match ($_GET["agegate"] ?? null) {
        "begin" => begin(),
        "return" => comeBack(),
        "auth" => page(holds() ? 204 : 403, ""),
        default => null,
    };
});
