<?php
declare(strict_types=1);

namespace Agegate;

/** A refusal by the gateway. Its message is the status, the detail, the request's ID and where help is. */
final class AgegateException extends \RuntimeException
{
    /**
     * @param int $status the HTTP status
     * @param string $detail what went wrong, for people
     * @param ?string $errorCode the same for programs, where the answer has one
     * @param list<array{type: string, loc: list<string|int>, msg: string}> $violations of a request refused with 422
     * @param string $requestId names the request in the gateway's log and on the dashboard's page "Rejected requests"
     * @param int $retryAfter in seconds, or 0
     * @param string $help the address of the page that explains it, or empty
     */
    public function __construct(
        public readonly int $status,
        public readonly string $detail,
        public readonly ?string $errorCode,
        public readonly array $violations,
        public readonly string $requestId,
        public readonly int $retryAfter,
        public readonly string $help = "",
    ) {
        parent::__construct("$status $detail" . ($requestId === "" ? "" : " (request $requestId)")
            . ($help === "" ? "" : ", see $help"));
    }
}
