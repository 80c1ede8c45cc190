<?php
declare(strict_types=1);

namespace Agegate;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** What sends the requests of a Client. */
abstract class Transport
{
    private readonly string $baseUrl;

    /**
     * $http is any PSR-18 client. Give it a timeout of about 15 seconds, and let it follow no redirect: one would
     * take the key to another address.
     *
     * @throws \InvalidArgumentException when the address or the key cannot be one
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] private readonly string $apiKey,
        private readonly ClientInterface $http,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
        if (!preg_match('~^https?://[^/]~', $baseUrl)) {
            throw new \InvalidArgumentException("the address must be an absolute http or https URL");
        }
        if (!preg_match('~^svc_(test|live)_~', $apiKey)) {
            throw new \InvalidArgumentException("the API key must be svc_test_... or svc_live_...");
        }
        $this->baseUrl = rtrim($baseUrl, "/");
    }

    /**
     * @param array<string, string|int|null> $query
     * @param array<string, ?string> $headers
     * @param ?array<string, mixed> $body
     * @return array<string, mixed>
     * @throws AgegateException when the gateway refuses
     * @throws ClientExceptionInterface when there is no answer
     */
    protected function call(string $method, string $path, array $query = [], array $headers = [], ?array $body = null): array
    {
        $asked = http_build_query($query, "", "&", PHP_QUERY_RFC3986); // leaves out what is null
        $request = $this->requests->createRequest($method, $this->baseUrl . $path . ($asked === "" ? "" : "?$asked"));
        foreach (array_filter($headers, fn(?string $value): bool => $value !== null) as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        $request = $request->withHeader("X-API-Key", $this->apiKey);
        if ($body !== null) {
            $text = json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
            $request = $request->withHeader("Content-Type", "application/json")->withBody($this->streams->createStream($text));
        }
        $response = $this->http->sendRequest($request);
        $answer = json_decode((string) $response->getBody(), true);
        if (intdiv($response->getStatusCode(), 100) !== 2 || !is_array($answer)) {
            throw self::refusal($response, $answer["detail"] ?? null);
        }
        return $answer;
    }

    private static function refusal(ResponseInterface $response, mixed $detail): AgegateException
    {
        $violations = is_array($detail) && array_is_list($detail) ? $detail : [];
        $code = $detail["code"] ?? null;
        $text = match (true) {
            $violations !== [] => implode(", ", array_map(
                fn(array $v): string => $v["type"] . " at " . implode(".", $v["loc"]), $violations)),
            is_array($detail) => $detail["message"] ?? "",
            default => (string) $detail,
        };
        $wait = $response->getHeaderLine("Retry-After");
        return new AgegateException(
            $response->getStatusCode(), $text ?: $response->getReasonPhrase(), $code, $violations,
            $response->getHeaderLine("X-Request-ID"), preg_match('~^[0-9]{1,9}$~D', $wait) ? (int) $wait : 0);
    }
}
