<?php
// webhook.php
declare(strict_types=1);

namespace Agegate;

/**
 * The event of a webhook, or null when the delivery does not verify.
 *
 * $rawBody is the body as received (file_get_contents("php://input")), $secret is whsec_... An empty or damaged
 * secret is an \InvalidArgumentException: under it, anybody could sign.
 *
 * @param array<string, string|list<string>> $headers as getallheaders() or a PSR-7 request has them
 * @return ?array{type: string, timestamp: string, session_id: string, status: string, is_adult: bool, livemode: bool}
 */
function verifyWebhook(array $headers, string $rawBody, string $secret): ?array
{
    if (!preg_match('~^whsec_[A-Za-z0-9+/]{43}=$~D', $secret)) { // 32 bytes
        throw new \InvalidArgumentException("the webhook secret must be whsec_ and 32 bytes in base64");
    }
    $given = [];
    foreach ($headers as $name => $value) {
        $given[strtolower((string) $name)] = implode(", ", (array) $value);
    }
    $id = $given["webhook-id"] ?? "";
    $timestamp = $given["webhook-timestamp"] ?? "";
    if (!preg_match('~^[0-9]{1,15}$~D', $timestamp) || abs(time() - (int) $timestamp) > 300) {
        return null;
    }
    $key = base64_decode(substr($secret, strlen("whsec_")));
    $wanted = "v1," . base64_encode(hash_hmac("sha256", "$id.$timestamp.$rawBody", $key, true));
    foreach (explode(" ", $given["webhook-signature"] ?? "") as $signature) {
        if (hash_equals($wanted, $signature)) {
            return json_decode($rawBody, true, flags: JSON_THROW_ON_ERROR);
        }
    }
    return null;
}
