# Size: many sessions in the tables, on both databases.

.PHONY: scale
SESSIONS ?= 10000000

scale: deps ## fill both databases with SESSIONS sessions, upgrade and prune them beside traffic, compare with few, and print what the tables take
	go test -count=1 -timeout 2h -v ./proof/crowd -args -sessions $(SESSIONS)
	go test -run '^$$' -bench 'BenchmarkScale' -benchtime 2s -timeout 3h ./proof/bench -args -many $(SESSIONS)
