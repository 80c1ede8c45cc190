<?php
// webhook.php

// The event of a webhook, or null when the delivery does not verify.
// $headers have lower-case names, $rawBody is file_get_contents("php://input"), $secret is whsec_...
// An empty or damaged secret verifies nothing: under it, anybody could sign.
function verify_webhook(array $headers, string $rawBody, string $secret): ?array
{
    if (!preg_match('~^whsec_[A-Za-z0-9+/]{43}=$~D', $secret)) { // 32 bytes
        return null;
    }
    $id = $headers["webhook-id"] ?? "";
    $timestamp = $headers["webhook-timestamp"] ?? "";
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return null;
    }
    $key = base64_decode(substr($secret, strlen("whsec_")), true);
    $wanted = "v1," . base64_encode(hash_hmac("sha256", "$id.$timestamp.$rawBody", $key, true));
    foreach (explode(" ", $headers["webhook-signature"] ?? "") as $given) {
        if (hash_equals($wanted, $given)) {
            return json_decode($rawBody, true, flags: JSON_THROW_ON_ERROR);
        }
    }
    return null;
}
