package storetest

import (
	"reflect"
	"testing"

	"agegate/internal/check/document"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

func TestTrustedIssuers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		list := func(when string, want ...document.TrustedIssuer) {
			t.Helper()
			if got, err := s.Issuers(ctx); err != nil || len(got) != len(want) || len(want) > 0 &&
				!reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v\nwant %+v", when, got, err, want)
			}
		}
		list("at first")
		first := document.TrustedIssuer{
			ID: id(t), Name: "Ministère", Country: "FR", DocType: "org.iso.18013.5.1.mDL", Certificate: []byte("der"),
			Fingerprint: digest("der"),
			SignerUsage: "1.0.18013.5.1.2", NotBefore: stored(start), NotAfter: stored(start.AddDate(9, 0, 0)),
			CreatedAt: stored(start),
		}
		other := first
		other.ID, other.DocType, other.SignerUsage, other.CreatedAt = id(t), "eu.europa.ec.av.1", "",
			stored(start.Add(microsecond))
		wantNoError(t, s.AddIssuer(ctx, first, anAct))
		wantNoError(t, s.AddIssuer(ctx, other, anAct))
		list("with two", first, other)

		again := first
		again.ID, again.Name = id(t), "Again"
		wantCode(t, "the same certificate for the same documents", s.AddIssuer(ctx, again, anAct), fault.Conflict)
		wantNoError(t, s.RemoveIssuer(ctx, first.ID, anAct))
		wantCode(t, "removing it twice", s.RemoveIssuer(ctx, first.ID, anAct), fault.NotFound)
		wantCode(t, "removing nobody", s.RemoveIssuer(ctx, uuid.New(), anAct), fault.NotFound)
		list("with one", other)
		wantNoError(t, s.AddIssuer(ctx, again, anAct))
	})
}
