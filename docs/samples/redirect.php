<?php
// redirect.php

// Whether the redirect proves the pass of the session you created for this shopper.
// $queryString is what follows the "?" of the redirect ($_SERVER["QUERY_STRING"]), $secret is rdsec_...
// An empty or damaged secret confirms nothing: under it, anybody could sign.
function verify_redirect(string $queryString, string $expectedSession, string $secret): bool
{
    if (!preg_match('~^rdsec_(test|live)_[A-Za-z0-9+/]{43}=$~D', $secret)) { // 32 bytes
        return false;
    }
    $query = [];
    foreach (explode("&", $queryString) as $pair) { // parse_str() would hide doubled parameters
        [$name, $value] = explode("=", $pair, 2) + [1 => ""];
        $query[urldecode($name)][] = urldecode($value);
    }
    $values = [];
    foreach (["session", "status", "is_adult", "token"] as $name) {
        if (count($query[$name] ?? []) !== 1) {
            return false;
        }
        $values[] = $query[$name][0];
    }
    [$session, $status, $isAdult, $token] = $values;
    $expiresTs = explode(".", $token)[0];
    $key = base64_decode(preg_replace('/^rdsec_(test|live)_/', "", $secret), true);
    $mac = hash_hmac("sha256", implode("|", [$session, $status, $isAdult, $expiresTs]), $key, true);
    $wanted = $expiresTs . "." . rtrim(strtr(base64_encode($mac), "+/", "-_"), "=");
    return hash_equals($wanted, $token)
        && time() <= (int) $expiresTs
        && $session === $expectedSession && $status === "VERIFIED" && $isAdult === "true";
}
