package tenant

import (
	"context"
	"testing"
	"time"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/turn"

	"github.com/google/uuid"
)

// TestLogosWait: no logo is decoded while all turns are taken, neither to store it nor
// to preview it.
func TestLogosWait(t *testing.T) {
	t.Parallel()
	service, id, upload := &Service{logos: turn.NewQueue(1, 1)}, uuid.New(), []byte("no picture")
	decode := map[string]func(context.Context) error{
		"check": func(ctx context.Context) error {
			return service.Check(ctx, id, Changes{Brand: &BrandChanges{Logo: &upload}})
		},
		"preview": func(ctx context.Context) error {
			_, err := service.DecodeLogo(ctx, id, upload)
			return err
		},
	}
	leave, err := service.logos.Take(t.Context(), uuid.New())
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range decode {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := run(ctx); err == nil || fault.CodeOf(err) == fault.Invalid {
			t.Errorf("%s: a logo was decoded without a turn: %v", name, err)
		}
		cancel()
	}
	leave()
	if _, err := service.DecodeLogo(t.Context(), id, upload); fault.CodeOf(err) != brand.ErrLogoFormat.Code {
		t.Errorf("with a turn: %v", err)
	}
}
