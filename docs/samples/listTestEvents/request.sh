curl -sS --fail-with-body \
  "$AGEGATE_URL/api/v1/test/events" \
  -H "X-API-Key: $AGEGATE_API_KEY"
