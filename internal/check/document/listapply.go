package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/check/document/trustlist"
	"agegate/internal/check/document/wallet"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// apply decides, on the locked row, what a verified list changes. It refuses an older
// list, and a list with the same number but other content.
func (s *Lists) apply(
	actor audit.Actor, l *TrustList, issuers []TrustedIssuer, parsed trustlist.List,
) (ListChange, error) {
	now := s.now()
	same := bytes.Equal(l.Digest, parsed.Digest[:])
	if l.Digest != nil && !same && !follows(*l, parsed) {
		return ListChange{}, &trustlist.RefusalError{Reason: trustlist.ReasonSequence}
	}
	listed, err := issuersOf(*l, parsed, now)
	if err != nil {
		return ListChange{}, err
	}
	var change ListChange
	for _, i := range listed {
		if !slices.ContainsFunc(issuers, i.sameAs) {
			change.Add = append(change.Add, i)
			change.Acts = append(change.Acts, listedAct(audit.IssuerTrust, actor, now, l.Name, i, ""))
		}
	}
	for _, i := range issuers {
		if !slices.ContainsFunc(listed, i.sameAs) {
			change.Remove = append(change.Remove, i.ID)
			change.Acts = append(change.Acts, listedAct(audit.IssuerDistrust, actor, now, l.Name, i, statusOf(parsed, i)))
		}
	}
	if !same {
		change.Acts = append(change.Acts, audit.Act{
			Scope: audit.Instance, At: now, Actor: actor, Action: audit.TrustListUpdate, Target: l.ID.String(),
			Detail: audit.Detail{
				Params: map[string]string{"name": l.Name, "digest": hex.EncodeToString(parsed.Digest[:])},
				Changes: []audit.Change{
					{Setting: "sequence", Old: strconv.FormatInt(l.Sequence, 10), New: strconv.FormatInt(parsed.Sequence, 10)},
					{Setting: "next_update", Old: formatEnd(l.NextUpdate), New: formatEnd(&parsed.NextUpdate)},
				},
			},
		})
	}
	l.Sequence, l.Digest = parsed.Sequence, parsed.Digest[:]
	l.IssuedAt, l.NextUpdate = &parsed.Issued, &parsed.NextUpdate
	l.SyncedAt, l.DueAt, l.Failure = &now, now.Add(varied(listPeriod)), ""
	return change, nil
}

// follows reports whether a list may replace the last one: its number is higher, and it was not issued earlier than the
// last one. A list without numbers must have been issued later.
func follows(l TrustList, parsed trustlist.List) bool {
	switch {
	case parsed.Issued.Before(*l.IssuedAt):
		return false
	case parsed.Sequence == 0 && l.Sequence == 0:
		return parsed.Issued.After(*l.IssuedAt)
	}
	return parsed.Sequence > l.Sequence
}

// issuersOf returns the issuers that a list makes trusted: one for each
// certificate and kind of document.
func issuersOf(l TrustList, parsed trustlist.List, now time.Time) (issuers []TrustedIssuer, err error) {
	for _, e := range parsed.Entries {
		if !e.Granted {
			continue
		}
		docTypes := e.DocTypes
		if l.DocType != "" {
			docTypes = []string{l.DocType}
		}
		for _, docType := range docTypes {
			if !slices.Contains(wallet.DocTypes(), docType) {
				continue
			}
			usage, err := signerUsage(NewIssuer{DocType: docType})
			if err != nil {
				return nil, err
			}
			id, err := uuid.NewV7()
			if err != nil {
				return nil, err
			}
			fingerprint := sha256.Sum256(e.Certificate.Raw)
			issuer := TrustedIssuer{
				ID: id, Name: visibleName(e.Name, l.Name), Country: e.Country, DocType: docType, Certificate: e.Certificate.Raw,
				Fingerprint: fingerprint[:],
				SignerUsage: usage, NotBefore: e.Certificate.NotBefore.UTC(), NotAfter: e.Certificate.NotAfter.UTC(),
				CreatedAt: now,
				List:      IssuerList{ID: l.ID, Name: l.Name, Until: parsed.NextUpdate},
			}
			if !slices.ContainsFunc(issuers, issuer.sameAs) {
				issuers = append(issuers, issuer)
			}
		}
	}
	return issuers, nil
}

// visibleName returns the visible characters of a name in a list, or other if there are
// none.
func visibleName(name, other string) string {
	return cmp.Or(strings.TrimSpace(strings.Map(func(r rune) rune {
		if tenant.IsHidden(r) {
			return -1
		}
		return r
	}, name)), other)
}

// sameAs reports whether two issuers are the same certificate for the same kind
// of document.
func (i TrustedIssuer) sameAs(other TrustedIssuer) bool {
	return i.DocType == other.DocType && bytes.Equal(i.Fingerprint, other.Fingerprint)
}

// statusOf returns why a list no longer makes an issuer trusted: the new status of the
// issuer, or that it is no longer listed.
func statusOf(parsed trustlist.List, i TrustedIssuer) string {
	for _, e := range parsed.Entries {
		if bytes.Equal(e.Certificate.Raw, i.Certificate) && !e.Granted && e.Status != "" {
			return e.Status
		}
	}
	return "not listed"
}

// listedAct is the act by which a list adds or removes an issuer.
func listedAct(
	action audit.Action, actor audit.Actor, now time.Time, list string, i TrustedIssuer, status string,
) audit.Act {
	params := map[string]string{
		"name": i.Name, "country": i.Country, "doctype": i.DocType, "fingerprint": hex.EncodeToString(i.Fingerprint),
		"list": list,
	}
	if status != "" {
		params["status"] = string([]rune(status)[:min(40, len([]rune(status)))]) // what fits the log
	}
	return audit.Act{Scope: audit.Instance, At: now, Actor: actor, Action: action, Target: i.ID.String(),
		Detail: audit.Detail{Params: params}}
}

func formatEnd(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}
