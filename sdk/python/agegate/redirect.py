# redirect.py
import base64
import hashlib
import hmac
import re
import time
from urllib.parse import parse_qs


def verify_redirect(query_string: str, session: str, *secrets: str) -> bool:
    """Whether a redirect to your Success URL proves the pass of the session that you created for this shopper.

    query_string is what follows the "?" of the address, as received; a secret is rdsec_... While one is
    being replaced, give the old and the new one. An empty or damaged secret is a ValueError: under it,
    anybody could sign.
    """
    if not secrets or not all(re.fullmatch("rdsec_(test|live)_[A-Za-z0-9+/]{43}=", s or "") for s in secrets):  # 32 bytes
        raise ValueError("a redirect secret must be rdsec_test_ or rdsec_live_ and 32 bytes in base64")
    query = parse_qs(query_string, keep_blank_values=True)
    values = [query.get(name, []) for name in ("session", "status", "is_adult", "token")]
    if any(len(value) != 1 for value in values):
        return False
    (given,), (status,), (is_adult,), (token,) = values
    expires_ts = token.partition(".")[0]
    text = "|".join([given, status, is_adult, expires_ts]).encode(errors="replace")
    signed = False
    for secret in secrets:
        key = base64.b64decode(secret.rpartition("_")[2])
        mac = base64.urlsafe_b64encode(hmac.new(key, text, hashlib.sha256).digest()).rstrip(b"=").decode()
        wanted = f"{expires_ts}.{mac}".encode(errors="replace")
        signed = hmac.compare_digest(wanted, token.encode(errors="replace")) or signed
    return (signed and re.fullmatch("[0-9]{1,15}", expires_ts) is not None and time.time() <= int(expires_ts)
            and given == session and status == "VERIFIED" and is_adult == "true")
