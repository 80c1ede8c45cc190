curl -sS --fail-with-body \
  "$AGEGATE_URL/api/v1/sessions/$SESSION_ID/detected-age" \
  -H "X-API-Key: $AGEGATE_API_KEY"
