curl -sS --fail-with-body \
  "$AGEGATE_URL/api/v1/sessions/create" \
  -H "X-API-Key: $AGEGATE_API_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: $(openssl rand -hex 16)" \
  -d '{"target_age": 18}'
