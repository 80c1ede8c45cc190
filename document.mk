# The document check: what its reader and its face match were made with, and how
# well the reader does.
.PHONY: mrz-model face-match documents

mrz-model: deps ## train the network that reads documents on rendered characters (about 10 minutes)
	nice go run ./internal/tools/mrzmodel

face-match: models ## fit the comparison of faces to pictures named as UTKFace's: make face-match SET=DIR [NAME="..."]
	@test -n "$(SET)" || { echo "Name the directory of pictures: make face-match SET=DIR" >&2; exit 1; }
	go run ./internal/tools/facematch -set "$(SET)" -name "$(or $(NAME),$(notdir $(SET)))"

documents: deps ## render documents, read them and print how many are read: make documents [COUNT=1] [FACES=DIR]
	go run ./proof/documents/report -count "$(or $(COUNT),1)" $(if $(FACES),-faces "$(FACES)")
