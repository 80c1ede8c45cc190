package wallet

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// identifiers returns the claims of an identifier list.
func identifiers(revoked ...string) statusClaims {
	list := &identifierList{Identifiers: map[cbor.ByteString]cbor.RawMessage{}}
	for _, id := range revoked {
		list.Identifiers[cbor.ByteString(id)] = cbor.RawMessage{0xa0}
	}
	return statusClaims{Subject: listURI, Expires: new(float64(now.Unix()) + 1), Revoked: list}
}

// The status of a document and the list in ISO/IEC 18013-5 second edition, D.7.
func TestIdentifierListExamples(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
		read func(raw []byte) (any, error)
	}{
		{
			"A16F6964656E7469666965725F6C697374A362696442CCCC63757269782568747470733A2F2F6578616D706C652E636F6D2F6964656E7469666965726C697374732F316B636572746966696361746541AA",
			StatusEntry{ID: "\xcc\xcc", URI: "https://example.com/identifierlists/1"},
			func(raw []byte) (any, error) {
				var status objectStatus
				if err := decoder.Unmarshal(raw, &status); err != nil {
					return nil, err
				}
				return status.entry()
			},
		},
		{
			"A26B6964656E74696669657273A342ABCDA042AAAAA1646E6F7465A042CCCCA107A06F6167677265676174696F6E5F757269782F68747470733A2F2F6578616D706C652E636F6D2F6964656E7469666965726C697374732F6167677265676174696F6E",
			"true true true false",
			func(raw []byte) (any, error) {
				var list identifierList
				err := listDecoder.Unmarshal(raw, &list)
				has := func(id cbor.ByteString) bool { _, ok := list.Identifiers[id]; return ok }
				return fmt.Sprint(has("\xab\xcd"), " ", has("\xaa\xaa"), " ", has("\xcc\xcc"), " ", has("\xab")), err
			},
		},
	} {
		raw, err := hex.DecodeString(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tt.read(raw); err != nil || got != tt.want {
			t.Errorf("%v, %v, want %v", got, err, tt.want)
		}
	}
}

func TestIdentifierList(t *testing.T) {
	issuer, stranger := newIssuer(t, 2), newIssuer(t, 3)
	with := func(change func(c *statusClaims)) statusClaims {
		c := identifiers("revoked")
		change(&c)
		return c
	}
	var many []string
	for n := range maxIdentifiers + 1 {
		many = append(many, fmt.Sprint(n))
	}
	for name, tt := range map[string]struct {
		claims  statusClaims
		issuers []Issuer
		want    Reason
	}{
		"good":  {identifiers("revoked"), issuer.Trusted(), ""},
		"empty": {identifiers(), issuer.Trusted(), ""},
		"as long as allowed": {identifiers(append(many[:maxIdentifiers-1:maxIdentifiers-1], "revoked")...),
			issuer.Trusted(), ""},
		"longer": {identifiers(many...), issuer.Trusted(), ReasonStatus},
		"expired": {
			with(func(c *statusClaims) { c.Expires = new(float64(now.Unix())) }), issuer.Trusted(), ReasonStatus,
		},
		"without an end":     {with(func(c *statusClaims) { c.Expires = nil }), issuer.Trusted(), ReasonStatus},
		"of another address": {with(func(c *statusClaims) { c.Subject += "0" }), issuer.Trusted(), ReasonStatus},
		"also a status list": {with(func(c *statusClaims) {
			c.List = statusBytes{Bits: 1,
				List: deflated(t, []byte{1})}
		}), issuer.Trusted(), ReasonStatus},
		"without identifiers": {with(func(c *statusClaims) { c.Revoked.Identifiers = nil }), issuer.Trusted(),
			ReasonStatus},
		"a stranger's":            {identifiers("revoked"), stranger.Trusted(), ReasonStatus},
		"of nobody that we trust": {identifiers("revoked"), nil, ReasonStatus},
	} {
		list, err := ParseStatusList(signedList(t, issuer, tt.claims)["cwt"], listURI, DocTypeMDL, tt.issuers, now)
		if ReasonOf(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil {
			continue
		}
		if got, err := list.Revoked(StatusEntry{ID: "revoked"}); err != nil || got != (name != "empty") {
			t.Errorf("%s: a revoked document: %t, %v", name, got, err)
		}
		if got, err := list.Revoked(StatusEntry{ID: "valid"}); err != nil || got {
			t.Errorf("%s: a valid document: %t, %v", name, got, err)
		}
		if _, err := list.Revoked(StatusEntry{Index: 1}); ReasonOf(err) != ReasonStatus {
			t.Errorf("%s: an index: %v", name, err)
		}
	}
	bits, err := ParseStatusList(signedList(t, issuer,
		statusClaims{Subject: listURI, List: statusBytes{Bits: 1, List: deflated(t, []byte{0})}})["cwt"],
		listURI, DocTypeMDL, issuer.Trusted(), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bits.Revoked(StatusEntry{ID: "valid"}); ReasonOf(err) != ReasonStatus {
		t.Errorf("an ID in a token status list: %v", err)
	}
}

// A document is looked up in its identifier list if it has no token status list.
func TestIdentifierOfADocument(t *testing.T) {
	list := map[string]any{"idx": 412, "uri": listURI}
	ids := func(id any) map[string]any { return map[string]any{"id": id, "uri": listURI} }
	for name, tt := range map[string]struct {
		status map[string]any
		want   StatusEntry
		reason Reason
	}{
		"an identifier list": {map[string]any{"identifier_list": ids([]byte("x"))}, StatusEntry{ID: "x", URI: listURI},
			""},
		"both": {map[string]any{"status_list": list, "identifier_list": ids([]byte("x"))},
			StatusEntry{Index: 412, URI: listURI}, ""},
		"both, one is malformed": {map[string]any{"status_list": list, "identifier_list": "?"},
			StatusEntry{Index: 412, URI: listURI}, ""},
		"no ID":        {map[string]any{"identifier_list": ids([]byte{})}, StatusEntry{}, ReasonStatus},
		"a text as ID": {map[string]any{"identifier_list": ids("x")}, StatusEntry{}, ReasonStatus},
		"too long an ID": {map[string]any{"identifier_list": ids([]byte(strings.Repeat("x", maxIdentifier+1)))},
			StatusEntry{}, ReasonStatus},
		"no map":                  {map[string]any{"identifier_list": 1}, StatusEntry{}, ReasonStatus},
		"an unknown kind of list": {map[string]any{"other": ids([]byte("x"))}, StatusEntry{}, ReasonStatus},
	} {
		var object securityObject
		if err := decoder.Unmarshal(encode(map[string]any{"status": tt.status}), &object); err != nil {
			t.Fatal(err)
		}
		var asked StatusEntry
		err := Verifier{Revoked: func(_ context.Context, e StatusEntry, _ string) (bool, error) {
			asked = e
			return false, nil
		}}.checkStatus(bg, object.Status, DocTypeMDL)
		if ReasonOf(err) != tt.reason || asked != tt.want {
			t.Errorf("%s: asked for %+v, %v", name, asked, err)
		}
	}
}
