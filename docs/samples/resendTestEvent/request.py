import json, os, sys, urllib.error, urllib.request

request = urllib.request.Request(
    f"{os.environ['AGEGATE_URL']}/api/v1/test/events/{os.environ['EVENT_ID']}/resend",
    method="POST",
    headers={"X-API-Key": os.environ["AGEGATE_API_KEY"]},
)
try:
    with urllib.request.urlopen(request, timeout=10) as response:
        answer = json.load(response)
except urllib.error.HTTPError as refused:
    sys.exit(f"{refused.code} {refused.read().decode()}")  # with the gateway's detail
print(answer["event_id"])
