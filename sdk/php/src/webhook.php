<?php
// webhook.php
declare(strict_types=1);

namespace Agegate;

if (!function_exists(__NAMESPACE__ . "\\verifyWebhook")) { // two plug-ins may each bring a copy
    /**
     * The event of a webhook, or null when the delivery does not verify. Then $why says what is wrong, for your log.
     *
     * $rawBody is the body as received (file_get_contents("php://input")), $secret is whsec_... An empty or damaged
     * secret is an \InvalidArgumentException: under it, anybody could sign.
     *
     * @param array<string, string|list<string>> $headers as getallheaders(), a PSR-7 request or WordPress has them
     * @return ?array{type: string, timestamp: string, session_id: string, status: string, is_adult: bool,
     *     livemode: bool}
     */
    function verifyWebhook(array $headers, string $rawBody, string $secret, ?string &$why = null): ?array
    {
        if (!preg_match('~^whsec_[A-Za-z0-9+/]{43}=$~D', $secret)) { // 32 bytes
            throw new \InvalidArgumentException("the webhook secret must be whsec_ and 32 bytes in base64");
        }
        $given = ["webhook-id" => "", "webhook-timestamp" => "", "webhook-signature" => ""];
        foreach ($headers as $name => $value) {
            $name = strtr(strtolower((string) $name), "_", "-"); // WordPress says webhook_id
            $given[$name] = implode(", ", (array) $value);
        }
        ["webhook-id" => $id, "webhook-timestamp" => $timestamp, "webhook-signature" => $signatures] = $given;
        $key = base64_decode(substr($secret, strlen("whsec_")));
        $wanted = "v1," . base64_encode(hash_hmac("sha256", "$id.$timestamp.$rawBody", $key, true));
        $signed = array_filter(explode(" ", $signatures), fn(string $one): bool => hash_equals($wanted, $one)) !== [];
        $event = json_decode($rawBody, true);
        $typed = is_array($event) && is_bool($event["is_adult"] ?? null) && is_bool($event["livemode"] ?? null);
        foreach (["type", "timestamp", "session_id", "status"] as $name) {
            $typed = $typed && is_string($event[$name] ?? null);
        }
        $why = match (true) {
            $id === "" || $timestamp === "" || $signatures === ""
                => "the header webhook-id, -timestamp or -signature is missing",
            !preg_match('~^[0-9]{1,15}$~D', $timestamp) || abs(time() - (int) $timestamp) > 300
                => "its timestamp is more than five minutes from this server's clock",
            !$signed => "no signature is of this secret and this body as received",
            !$typed => "it is signed, but the body is not an event",
            default => null,
        };
        return $why === null ? $event : null;
    }
}
