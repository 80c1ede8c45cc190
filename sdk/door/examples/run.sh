#!/bin/sh
# DOOR=1 make run: the gateway, and a sample site behind the door. Other ports:
# AGEGATE_LISTEN, AGEGATE_SHOP_LISTEN, DOOR_LISTEN and PORT, the site's.
set -eu
export AGEGATE_URL="${AGEGATE_BASE_URL:-http://${AGEGATE_LISTEN:-localhost:8080}}"
export DOOR_LISTEN="${DOOR_LISTEN:-localhost:8090}" PORT="${PORT:-8091}"
export DOOR_URL="http://$DOOR_LISTEN" DOOR_UPSTREAM="http://localhost:$PORT" DOOR_NAME="The sample forum" DOOR_FREE=/about
export DOOR_COLOUR="#7a2f9c" DOOR_PRIVACY="$AGEGATE_URL/privacy" DOOR_EXIT=https://example.org/
# A browser cannot play the CDN that names a visitor's region; curl can.
export DOOR_RULES=sdk/door/examples/rules.txt DOOR_REGION_HEADER=X-Region

tenant="data/door-${DOOR_LISTEN##*:}.json"
mkdir -p bin data
go build -C sdk/door -o "$PWD/bin/agegate-door" ./cmd/door
go build -C sdk/door -o "$PWD/bin/sample-site" ./examples/site
trap 'trap "" EXIT INT TERM; kill 0' EXIT INT TERM
bin/agegate demo &
until curl -sf -o /dev/null "$AGEGATE_URL/healthz"; do sleep 0.5; kill -0 $!; done

if [ ! -e "$tenant" ]; then # the first run: a tenant for the site
	AGEGATE_DATABASE_URL=sqlite:data/agegate.db AGEGATE_SECRET_KEY="$(cat data/secret.key)" \
		AGEGATE_ALLOW_INSECURE_CALLBACKS=true bin/agegate tenant create --name "The sample forum" \
		--success-url "$DOOR_URL/" --cancel-url "$DOOR_URL/" --json >"$tenant.new"
	mv "$tenant.new" "$tenant"
fi
secret() { node -p "JSON.parse(fs.readFileSync('$tenant')).$1.test"; }
AGEGATE_API_KEY=$(secret api_keys) AGEGATE_REDIRECT_SECRET=$(secret redirect_secrets)
export AGEGATE_API_KEY AGEGATE_REDIRECT_SECRET
[ -e data/door.key ] || (umask 077 && bin/agegate-door key >data/door.key)
export DOOR_KEYS_FILE=data/door.key

bin/sample-site &
bin/agegate-door check 2>data/door.log || { cat data/door.log; exit 1; } # the door says the same when it starts
echo "The sample site behind the door: $DOOR_URL"
echo "From Germany it asks for 16 years, and from Japan for nothing: curl -H 'X-Region: JP' $DOOR_URL"
bin/agegate-door
