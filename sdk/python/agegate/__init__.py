"""The client of the API of an agegate gateway, for a merchant's backend."""
from ._client import Client
from ._transport import AgegateError
from ._types import CompletionEvent
from .redirect import verify_redirect
from .webhook import verify_webhook

__all__ = ["AgegateError", "Client", "CompletionEvent", "verify_redirect", "verify_webhook"]
