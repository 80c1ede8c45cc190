<?php
$address = getenv("AGEGATE_URL") . "/api/v1/test/events/" . getenv("EVENT_ID") . "/resend";
$answer = file_get_contents($address, false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => ["X-API-Key: " . getenv("AGEGATE_API_KEY")],
    "timeout" => 10,
    "ignore_errors" => true, // read a refusal's detail
]]));
if ($answer === false || !str_contains($http_response_header[0], " 20")) {
    fwrite(STDERR, "$answer\n"); // the gateway's detail; if it was not reached, PHP has printed a warning
    exit(1);
}
$answer = json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
echo json_encode($answer["event_id"]), "\n";
