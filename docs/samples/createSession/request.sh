curl -sS --fail-with-body "$AGEGATE_URL/api/v1/sessions/create" \
  -H "X-API-Key: $AGEGATE_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"target_age": 18}'
