# Arguments: directory of PostgreSQL's binaries, directory for the cluster.
# Prints "ready" when the cluster answers on its socket, else why it does not.
# Durability is off: the data is worth nothing after the test.
bin=$1 dir=$2
trap '' INT TERM HUP
if "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C -N >"$dir/log" 2>&1 &&
	"$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 -o "-k '$dir' -c listen_addresses='' \
		-c fsync=off -c synchronous_commit=off -c full_page_writes=off \
		-c max_connections=300 -c shared_buffers=64MB" start >/dev/null </dev/null 2>&1; then
	echo ready
	cat >/dev/null
	"$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1
else
	tail -n 20 "$dir/log"
fi
cd / && rm -rf "$dir"
