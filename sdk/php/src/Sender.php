<?php
declare(strict_types=1);

namespace Agegate;

/** Sends requests by what a site already has, such as WordPress's wp_remote_request(), instead of a PSR-18 client. */
interface Sender
{
    /**
     * Sends one request, follows no redirect, and throws when there is no answer.
     *
     * @param array<string, string> $headers
     * @return array{int, array<string, string>, string} the answer's status, headers and body
     */
    public function send(string $method, string $url, array $headers, string $body): array;
}
