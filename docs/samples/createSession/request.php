<?php
$answer = file_get_contents(getenv("AGEGATE_URL") . "/api/v1/sessions/create", false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => ["X-API-Key: " . getenv("AGEGATE_API_KEY"), "Content-Type: application/json"],
    "content" => json_encode(["target_age" => 18]),
    "timeout" => 10,
]]));
if ($answer === false) {
    exit(1); // refused or not reached: PHP has printed a warning
}
$session = json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
echo $session["session_id"], " ", $session["verification_url"], "\n";
