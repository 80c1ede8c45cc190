# redirect_token.py
import base64, hashlib, hmac, re, time
from urllib.parse import parse_qs

def is_pass(query_string, expected_session, secret):
    """Whether the redirect proves the pass of the session you created for this shopper.

    query_string is what follows the "?" of the redirect, secret is rdsec_... An empty or damaged
    secret confirms nothing: under it, anybody could sign.
    """
    if not re.fullmatch("rdsec_(test|live)_[A-Za-z0-9+/]{43}=", secret or ""):  # 32 bytes
        return False
    query = parse_qs(query_string, keep_blank_values=True)
    values = [query.get(name, []) for name in ("session", "status", "is_adult", "token")]
    if any(len(value) != 1 for value in values):
        return False
    (session,), (status,), (is_adult,), (token,) = values
    expires_ts = token.partition(".")[0]
    key = base64.b64decode(secret.rpartition("_")[2])
    text = "|".join([session, status, is_adult, expires_ts]).encode(errors="replace")
    mac = base64.urlsafe_b64encode(hmac.new(key, text, hashlib.sha256).digest()).rstrip(b"=").decode()
    return (hmac.compare_digest(f"{expires_ts}.{mac}".encode(errors="replace"), token.encode(errors="replace"))
            and time.time() <= int(expires_ts)
            and session == expected_session and status == "VERIFIED" and is_adult == "true")
