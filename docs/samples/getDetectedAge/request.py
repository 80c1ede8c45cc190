import json, os, sys, urllib.error, urllib.request

request = urllib.request.Request(
    f"{os.environ['AGEGATE_URL']}/api/v1/sessions/{os.environ['SESSION_ID']}/detected-age",
    headers={"X-API-Key": os.environ["AGEGATE_API_KEY"]},
)
try:
    with urllib.request.urlopen(request, timeout=10) as response:
        age = json.load(response)
except urllib.error.HTTPError as refused:
    sys.exit(f"{refused.code} {refused.read().decode()}")  # with the gateway's detail
print(age["availability"])
