<?php
// redirect.php
declare(strict_types=1);

namespace Agegate;

if (!function_exists(__NAMESPACE__ . "\\verifyRedirect")) { // two plug-ins may each bring a copy
    /**
     * Whether a redirect to your Success URL proves the pass of the session that you created for this shopper.
     *
     * $queryString is what follows the "?" of the address, as received ($_SERVER["QUERY_STRING"]); a secret is
     * rdsec_... While one is being replaced, give the old and the new one. An empty or damaged secret is an
     * \InvalidArgumentException: under it, anybody could sign.
     */
    function verifyRedirect(string $queryString, string $session, string ...$secrets): bool
    {
        $form = '~^rdsec_(test|live)_[A-Za-z0-9+/]{43}=$~D'; // 32 bytes
        $damaged = fn(string $secret): bool => !preg_match($form, $secret);
        if ($secrets === [] || array_filter($secrets, $damaged) !== []) {
            throw new \InvalidArgumentException(
                "a redirect secret must be rdsec_test_ or rdsec_live_ and 32 bytes in base64");
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
        [$given, $status, $isAdult, $token] = $values;
        $expiresTs = explode(".", $token)[0];
        $signed = false;
        foreach ($secrets as $secret) {
            $key = base64_decode(substr($secret, strlen("rdsec_test_"))); // "rdsec_live_" is as long
            $mac = hash_hmac("sha256", implode("|", [$given, $status, $isAdult, $expiresTs]), $key, true);
            $wanted = $expiresTs . "." . rtrim(strtr(base64_encode($mac), "+/", "-_"), "=");
            $signed = hash_equals($wanted, $token) || $signed;
        }
        return $signed && preg_match('~^[0-9]{1,15}$~D', $expiresTs) === 1 && time() <= (int) $expiresTs
            && $given === $session && $status === "VERIFIED" && $isAdult === "true";
    }
}
