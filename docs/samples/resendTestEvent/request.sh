curl -sS --fail-with-body -X POST \
  "$AGEGATE_URL/api/v1/test/events/$EVENT_ID/resend" \
  -H "X-API-Key: $AGEGATE_API_KEY"
