# The attack range: plays attack clips and honest clips to the real capture.
.PHONY: attack

attack: models ## play attacks to the liveness and the document check and print how many pass (about 35 minutes)
	go run ./proof/attack/report
	go test -count=1 -run TestWalletRange -v ./proof/attack
