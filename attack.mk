# The attack range: plays attack clips and honest clips to the real capture.
.PHONY: attack

attack: models ## play attacks to the liveness check and print how many pass (about 25 minutes)
	go run ./internal/proof/attack/report
