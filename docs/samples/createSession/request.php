<?php
$answer = file_get_contents(getenv("AGEGATE_URL") . "/api/v1/sessions/create", false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => [
        "X-API-Key: " . getenv("AGEGATE_API_KEY"),
        "Content-Type: application/json",
        "Idempotency-Key: " . bin2hex(random_bytes(16)), // keep it with the order, for a repetition
    ],
    "content" => json_encode(["target_age" => 18]),
    "timeout" => 10,
    "ignore_errors" => true, // read a refusal's detail
]]));
if ($answer === false || !str_contains($http_response_header[0], " 20")) {
    fwrite(STDERR, "$answer\n"); // the gateway's detail; if it was not reached, PHP has printed a warning
    exit(1);
}
$session = json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
echo $session["session_id"], " ", $session["verification_url"], "\n";
