# The attack range: dishonest and honest camera clips against the real capture.
.PHONY: attack

attack: models ## play attacks to the liveness check and print how many come through (about 25 minutes)
	go run ./internal/proof/attack/report
