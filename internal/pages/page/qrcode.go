package page

import (
	"context"

	"github.com/google/uuid"
	"rsc.io/qr"

	"agegate/internal/rules/turn"
)

// drawing has the turns of QR codes, which take a few milliseconds each.
var drawing = turn.NewQueue(2, 0)

// QRCode returns a text as a QR code, once the tenant's turn comes: a PNG with the given size of a module in pixels.
func QRCode(ctx context.Context, tenant uuid.UUID, text string, level qr.Level, module int) ([]byte, error) {
	leave, err := drawing.Take(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer leave()
	code, err := qr.Encode(text, level)
	if err != nil {
		return nil, err
	}
	code.Scale = module
	return code.PNG(), nil
}
