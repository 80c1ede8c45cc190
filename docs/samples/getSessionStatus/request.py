import json, os, urllib.request

request = urllib.request.Request(
    f"{os.environ['AGEGATE_URL']}/api/v1/sessions/{os.environ['SESSION_ID']}/status",
    headers={"X-API-Key": os.environ["AGEGATE_API_KEY"]},
)
with urllib.request.urlopen(request, timeout=10) as response:
    current = json.load(response)
print(current["status"])
