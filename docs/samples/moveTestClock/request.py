import json, os, urllib.request

request = urllib.request.Request(
    f"{os.environ['AGEGATE_URL']}/api/v1/test/sessions/{os.environ['SESSION_ID']}/clock",
    method="POST",
    data=json.dumps({"expire": "session"}).encode(),
    headers={"X-API-Key": os.environ["AGEGATE_API_KEY"], "Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=10) as response:
    answer = json.load(response)
print(answer["expired"])
