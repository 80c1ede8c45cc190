# The fitted files of the age estimate, from labelled face pictures: a look at
# every picture, the calibration, and the fine-tuned tail. docs/training.md
# says what it takes and what comes out.

TRAINING_PACKAGES := python3-torch python3-onnx
MATERIAL := data/training

.PHONY: train train-deps

train-deps:
	@if /usr/bin/python3 -c 'import torch, onnx' 2>/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(TRAINING_PACKAGES); \
	else echo "Training needs these packages: $(TRAINING_PACKAGES)" >&2; exit 1; fi

train: ## fit the age estimate to labelled faces: make train SET=DIR [NAME="..."] [LICENCE="..."]
	@test -n "$(SET)" || { echo "Name the labelled pictures, a directory or a CSV file: make train SET=DIR" >&2; exit 1; }
	$(MAKE) build models train-deps
	mkdir -p $(MATERIAL)
	bin/agegate calibrate "$(SET)" --name "$(or $(NAME),$(notdir $(SET)))" --out $(MATERIAL)/calibration.json --material $(MATERIAL)
	nice /usr/bin/python3 training/train.py $(MATERIAL) --out $(MATERIAL) --name "$(or $(NAME),$(notdir $(SET)))" --licence "$(or $(LICENCE),that of the pictures)"
	cp $(MATERIAL)/calibration.json $(MATERIAL)/agetail.onnx $(MATERIAL)/agetail.json models/
	bin/agegate eval $(MATERIAL)/held_out.csv --name "$(or $(NAME),$(notdir $(SET)))" --curve models/curve.json
