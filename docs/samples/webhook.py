# webhook.py
import base64, hashlib, hmac, json, re, time

def verified_event(headers, raw_body, secret):
    """The event of a webhook, or None when the delivery does not verify.

    headers have lower-case names, raw_body is bytes as received, secret is whsec_... An
    empty or damaged secret verifies nothing: under it, anybody could sign.
    """
    if not re.fullmatch("whsec_[A-Za-z0-9+/]{43}=", secret or ""):  # 32 bytes
        return None
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return None
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{event_id}.{timestamp}.".encode() + raw_body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(wanted.encode(), one.encode()) for one in given):
        return None
    return json.loads(raw_body)
