<?php
declare(strict_types=1);

namespace Agegate;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/** What sends the requests of a Client. */
abstract class Transport
{
    private readonly string $baseUrl;

    /**
     * $http is any PSR-18 client with factories of PSR-17, or a Sender alone. Give it a timeout of about 15 seconds,
     * and let it follow no redirect: one would take the key to another address.
     *
     * @throws \InvalidArgumentException when the address or the key cannot be one, or a factory is missing
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] private readonly string $apiKey,
        private readonly Sender|ClientInterface $http,
        private readonly ?RequestFactoryInterface $requests = null,
        private readonly ?StreamFactoryInterface $streams = null,
    ) {
        if (!$http instanceof Sender && ($requests === null || $streams === null)) {
            throw new \InvalidArgumentException("a PSR-18 client needs both factories");
        }
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
     * @throws ClientExceptionInterface when there is no answer; of a Sender, what it throws
     */
    protected function call(string $method, string $path, array $query = [], array $headers = [], ?array $body = null): array
    {
        $asked = http_build_query($query, "", "&", PHP_QUERY_RFC3986); // leaves out what is null
        $url = $this->baseUrl . $path . ($asked === "" ? "" : "?$asked");
        $headers = array_filter($headers, fn(?string $value): bool => $value !== null) + ["X-API-Key" => $this->apiKey];
        $text = "";
        if ($body !== null) {
            $headers["Content-Type"] = "application/json";
            $text = json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
        }
        [$status, $given, $text] = $this->http instanceof Sender
            ? $this->http->send($method, $url, $headers, $text) : $this->sendPSR($method, $url, $headers, $text);
        $answer = json_decode($text, true);
        if (intdiv($status, 100) !== 2 || !is_array($answer)) {
            throw self::refusal($url, $status, array_change_key_case($given), $answer["detail"] ?? null);
        }
        return $answer;
    }

    /**
     * @param array<string, string> $headers
     * @return array{int, array<string, string>, string} as a Sender's
     */
    private function sendPSR(string $method, string $url, array $headers, string $body): array
    {
        $request = $this->requests->createRequest($method, $url);
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        if ($body !== "") {
            $request = $request->withBody($this->streams->createStream($body));
        }
        $response = $this->http->sendRequest($request);
        $given = ["" => $response->getReasonPhrase()];
        foreach (array_keys($response->getHeaders()) as $name) {
            $given[$name] = $response->getHeaderLine((string) $name);
        }
        return [$response->getStatusCode(), $given, (string) $response->getBody()];
    }

    /** @param array<string, string> $headers */
    private static function refusal(string $url, int $status, array $headers, mixed $detail): AgegateException
    {
        $violations = is_array($detail) && array_is_list($detail) ? $detail : [];
        $code = $detail["code"] ?? null;
        $text = match (true) {
            $violations !== [] => implode(", ", array_map(
                fn(array $v): string => $v["type"] . " at " . implode(".", $v["loc"]), $violations)),
            is_array($detail) => $detail["message"] ?? "",
            default => (string) $detail,
        };
        $wait = $headers["retry-after"] ?? "";
        preg_match('~<([^>]*)>; rel="help"~', $headers["link"] ?? "", $link);
        $help = $link[1] ?? "";
        if (str_starts_with($help, "/")) {
            $help = preg_replace('~^(https?://[^/]+).*~s', '$1', $url) . $help;
        }
        return new AgegateException(
            $status, $text ?: $headers[""] ?? "", $code, $violations,
            $headers["x-request-id"] ?? "", preg_match('~^[0-9]{1,9}$~D', $wait) ? (int) $wait : 0, $help);
    }
}
