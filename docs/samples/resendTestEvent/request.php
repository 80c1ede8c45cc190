<?php
$address = getenv("AGEGATE_URL") . "/api/v1/test/events/" . getenv("EVENT_ID") . "/resend";
$answer = file_get_contents($address, false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => ["X-API-Key: " . getenv("AGEGATE_API_KEY")],
    "timeout" => 10,
]]));
if ($answer === false) {
    exit(1); // refused or not reached: PHP has printed a warning
}
$answer = json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
echo json_encode($answer["event_id"]), "\n";
