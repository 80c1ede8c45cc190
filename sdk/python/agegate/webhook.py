# webhook.py
from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import TYPE_CHECKING, Mapping

if TYPE_CHECKING:  # only for type checkers: this file also runs without the package
    from agegate import CompletionEvent


def verify_webhook(headers: Mapping[str, str], raw_body: bytes, secret: str) -> CompletionEvent | None:
    """The event of a webhook, or None when the delivery does not verify.

    raw_body is the body as received, secret is whsec_... An empty or damaged secret is a ValueError:
    under it, anybody could sign. A body that is not bytes, such as parsed JSON, is a TypeError.
    """
    if not re.fullmatch("whsec_[A-Za-z0-9+/]{43}=", secret or ""):  # 32 bytes
        raise ValueError("the webhook secret must be whsec_ and 32 bytes in base64")
    if not isinstance(raw_body, (bytes, bytearray)):
        raise TypeError("pass the raw body as bytes, as it was received, not parsed JSON: it cannot be verified")
    given = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,15}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return None
    key = base64.b64decode(secret[len("whsec_"):])
    signed = f"{event_id}.{timestamp}.".encode() + raw_body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    if not any(hmac.compare_digest(wanted.encode(), one.encode()) for one in given.get("webhook-signature", "").split(" ")):
        return None
    try:
        event = json.loads(raw_body)
        typed = isinstance(event["is_adult"], bool) and isinstance(event["livemode"], bool)
    except (ValueError, TypeError, KeyError):  # signed, but not an event
        return None
    return event if typed else None
