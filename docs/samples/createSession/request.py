import json, os, urllib.request

request = urllib.request.Request(
    os.environ["AGEGATE_URL"] + "/api/v1/sessions/create",
    data=json.dumps({"target_age": 18}).encode(),
    headers={"X-API-Key": os.environ["AGEGATE_API_KEY"], "Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=10) as response:
    session = json.load(response)
print(session["session_id"], session["verification_url"])
