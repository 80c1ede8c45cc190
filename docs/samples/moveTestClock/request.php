<?php
$address = getenv("AGEGATE_URL") . "/api/v1/test/sessions/" . getenv("SESSION_ID") . "/clock";
$answer = file_get_contents($address, false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => ["X-API-Key: " . getenv("AGEGATE_API_KEY"), "Content-Type: application/json"],
    "content" => json_encode(["expire" => "session"]),
    "timeout" => 10,
]]));
if ($answer === false) {
    exit(1); // refused or not reached: PHP has printed a warning
}
$answer = json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
echo json_encode($answer["expired"]), "\n";
