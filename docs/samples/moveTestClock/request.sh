curl -sS --fail-with-body \
  "$AGEGATE_URL/api/v1/test/sessions/$SESSION_ID/clock" \
  -H "X-API-Key: $AGEGATE_API_KEY" -H "Content-Type: application/json" \
  -d '{"expire": "session"}'
