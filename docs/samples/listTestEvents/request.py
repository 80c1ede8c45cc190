import json, os, urllib.request

request = urllib.request.Request(
    f"{os.environ['AGEGATE_URL']}/api/v1/test/events",
    headers={"X-API-Key": os.environ["AGEGATE_API_KEY"]},
)
with urllib.request.urlopen(request, timeout=10) as response:
    answer = json.load(response)
print(answer["events"])
