<?php
$address = getenv("AGEGATE_URL") . "/api/v1/test/events";
$answer = file_get_contents($address, false, stream_context_create(["http" => [
    "header" => ["X-API-Key: " . getenv("AGEGATE_API_KEY")],
    "timeout" => 10,
]]));
if ($answer === false) {
    exit(1); // refused or not reached: PHP has printed a warning
}
$answer = json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
echo json_encode($answer["events"]), "\n";
