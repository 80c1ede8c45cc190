"""What sends the requests of a Client."""
from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Mapping

if TYPE_CHECKING:
    from ._types import Violation


class AgegateError(Exception):
    """A refusal by the gateway. Its text is the status, the detail, the request's ID and where help is.

    detail says what went wrong, for people; code is for programs, where the answer has one; violations
    are those of a request that is refused with 422; request_id names the request in the
    gateway's log and on the dashboard's page "Rejected requests";
    retry_after is in seconds, or 0; help is the address of the page that explains it, or empty.
    """

    def __init__(self, status: int, body: Any, headers: Mapping[str, str], reason: str, url: str = "") -> None:
        detail = body.get("detail") if isinstance(body, dict) else None
        self.status = status
        self.code: str | None = detail.get("code") if isinstance(detail, dict) else None
        self.violations: list[Violation] = detail if isinstance(detail, list) else []
        if isinstance(detail, dict):
            detail = detail.get("message")
        elif isinstance(detail, list):
            detail = ", ".join(f"{v['type']} at {'.'.join(map(str, v['loc']))}" for v in self.violations)
        self.detail: str = detail or reason
        self.request_id = headers.get("X-Request-ID", "")
        wait = headers.get("Retry-After", "")
        self.retry_after = int(wait) if re.fullmatch("[0-9]{1,9}", wait) else 0
        link = re.search('<([^>]*)>; rel="help"', headers.get("Link", ""))
        self.help = urllib.parse.urljoin(url, link[1]) if link else ""
        super().__init__(f"{status} {self.detail}" + (f" (request {self.request_id})" if self.request_id else "")
                         + (f", see {self.help}" if self.help else ""))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Transport:
    """What sends the requests of a Client. A call waits at most 15 seconds for the gateway."""

    def __init__(self, base_url: str, api_key: str) -> None:
        if not re.match("https?://[^/]", base_url or ""):
            raise ValueError("the address must be an absolute http or https URL")
        if not re.match("svc_(test|live)_", api_key or ""):
            raise ValueError("the API key must be svc_test_... or svc_live_...")
        self._base_url, self._api_key = base_url.rstrip("/"), api_key
        self._opener = urllib.request.build_opener(_NoRedirect)

    def _call(self, method: str, path: str, *, query: Mapping[str, Any] = {}, headers: Mapping[str, str | None] = {},
              body: Any = None) -> Any:
        sent = {name: value for name, value in headers.items() if value is not None}
        sent["X-API-Key"] = self._api_key
        if body is not None:
            sent["Content-Type"] = "application/json"
        asked = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
        request = urllib.request.Request(
            self._base_url + path + ("?" + asked if asked else ""), method=method, headers=sent,
            data=None if body is None else json.dumps(body).encode())
        try:
            with self._opener.open(request, timeout=15) as response:
                return json.load(response)
        except urllib.error.HTTPError as refused:
            with refused:
                try:
                    answer = json.load(refused)
                except ValueError:  # not the gateway's own answer, but a proxy's
                    answer = None
                raise AgegateError(
                    refused.code, answer, refused.headers, str(refused.reason), refused.url or "") from None
