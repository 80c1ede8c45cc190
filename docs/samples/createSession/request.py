import json, os, sys, urllib.error, urllib.request, uuid

request = urllib.request.Request(
    os.environ["AGEGATE_URL"] + "/api/v1/sessions/create",
    data=json.dumps({"target_age": 18}).encode(),
    headers={
        "X-API-Key": os.environ["AGEGATE_API_KEY"],
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),  # keep it with the order, for a repetition
    },
)
try:
    with urllib.request.urlopen(request, timeout=10) as response:
        session = json.load(response)
except urllib.error.HTTPError as refused:
    sys.exit(f"{refused.code} {refused.read().decode()}")  # with the gateway's detail
print(session["session_id"], session["verification_url"])
