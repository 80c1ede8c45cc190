#!/bin/sh
# DOOR=1 make run: the gateway, and a sample site behind the door.
set -eu
export AGEGATE_URL="${AGEGATE_BASE_URL:-http://${AGEGATE_LISTEN:-localhost:8080}}"
export DOOR_URL=http://localhost:8090 DOOR_UPSTREAM=http://localhost:8091 DOOR_NAME="The sample forum" DOOR_FREE=/about

mkdir -p bin data
go build -C sdk/door -o "$PWD/bin/agegate-door" ./cmd/door
go build -C sdk/door -o "$PWD/bin/sample-site" ./examples/site
trap 'trap "" EXIT INT TERM; kill 0' EXIT INT TERM
bin/agegate demo &
until curl -sf -o /dev/null "$AGEGATE_URL/healthz"; do sleep 0.5; kill -0 $!; done

if [ ! -e data/door.json ]; then # the first run: a tenant for the site
	AGEGATE_DATABASE_URL=sqlite:data/agegate.db AGEGATE_SECRET_KEY="$(cat data/secret.key)" \
		AGEGATE_ALLOW_INSECURE_CALLBACKS=true bin/agegate tenant create --name "The sample forum" \
		--success-url "$DOOR_URL/" --cancel-url "$DOOR_URL/" --json >data/door.json.new
	mv data/door.json.new data/door.json
fi
secret() { node -p "JSON.parse(fs.readFileSync('data/door.json')).$1.test"; }
AGEGATE_API_KEY=$(secret api_keys) AGEGATE_REDIRECT_SECRET=$(secret redirect_secrets)
export AGEGATE_API_KEY AGEGATE_REDIRECT_SECRET
[ -e data/door.key ] || (umask 077 && bin/agegate-door key >data/door.key)
export DOOR_KEYS_FILE=data/door.key

PORT=8091 bin/sample-site &
bin/agegate-door check
echo "The sample site behind the door: $DOOR_URL"
bin/agegate-door
