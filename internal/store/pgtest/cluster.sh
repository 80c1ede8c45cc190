# Arguments: directory of PostgreSQL's binaries, directory for the cluster, the
# server's options, and how to connect to the primary if it is to be a replica.
# Prints "ready" when the cluster answers on its socket, else why it does not.
# Every line on standard input crashes the server and starts it again, answered
# by another "ready"; the end of the input ends all.
bin=$1 dir=$2 options=$3 primary=$4
trap '' INT TERM HUP
make() {
	if [ -n "$primary" ]; then
		"$bin/pg_basebackup" -d "$primary" -D "$dir/data" -R -c fast
	else
		"$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C -N
	fi
}
start() {
	"$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 -o "-k '$dir' $options" start >/dev/null </dev/null 2>&1
}
stop() {
	"$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1
}
if make >"$dir/log" 2>&1 && start; then
	echo ready
	while read -r _ && stop && start; do
		echo ready
	done
	stop
else
	tail -n 20 "$dir/log"
fi
cd / && rm -rf "$dir"
