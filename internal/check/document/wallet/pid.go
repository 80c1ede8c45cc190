package wallet

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"strconv"
	"time"

	"agegate/internal/check/document/date"
)

// DocTypePID is the type of the EU's person identification data as SD-JWT. It has
// statements of age (age_equal_or_over). If it has none, its birth date is compared
// with the target age and not kept.
const DocTypePID = "urn:eudi:pid:1"

const (
	claimOver  = "age_equal_or_over"
	claimBirth = "birthdate"
)

// verifyPID is Verify for an SD-JWT.
func (v Verifier) verifyPID(ctx context.Context, p Presentation, targetAge int, now time.Time) error {
	s, err := parseSDJWT(string(p.response))
	if err != nil {
		return err
	}
	chain, err := headerChain(s.issued)
	if err != nil {
		return err
	}
	if err := verifyChain(chain, DocTypePID, v.Issuers, now); err != nil {
		return err
	}
	claims, algorithm, err := s.disclosed(chain[0].PublicKey, typeSDJWT)
	if err != nil {
		return err
	}
	if claims["vct"] != DocTypePID {
		return refuse(ReasonDocType)
	}
	key, err := holderKey(claims)
	if err != nil {
		return err
	}
	if err := s.bound(key, algorithm, p.audience, p.nonce, now); err != nil {
		return err
	}
	if err := validity(claims, chain[0], now); err != nil {
		return err
	}
	status, err := statusOf(claims)
	if err != nil {
		return err
	}
	if err := v.checkStatus(ctx, status, DocTypePID); err != nil {
		return err
	}
	return provesAgeByPID(claims, targetAge, now)
}

// validity checks the times of an SD-JWT.
func validity(claims map[string]any, signer *x509.Certificate, now time.Time) error {
	if at, ok, err := timeOf(claims, "iat"); err != nil {
		return err
	} else if ok {
		if err := signedBy(signer, at); err != nil {
			return err
		}
		if now.Before(at.Add(-clockSkew)) {
			return refuse(ReasonNotYetValid)
		}
	}
	if from, ok, err := timeOf(claims, "nbf"); err != nil {
		return err
	} else if ok && now.Before(from.Add(-clockSkew)) {
		return refuse(ReasonNotYetValid)
	}
	until, ok, err := timeOf(claims, "exp")
	if err == nil && ok && !now.Before(until) {
		return refuse(ReasonExpired)
	}
	return err
}

// statusOf returns the status of an SD-JWT, or nil.
func statusOf(claims map[string]any) (*objectStatus, error) {
	value, ok := claims["status"]
	if !ok {
		return nil, nil //nolint:nilnil // none is none
	}
	status, ok := value.(map[string]any)
	if !ok {
		return nil, refuse(ReasonMalformed)
	}
	list, ok := status["status_list"].(map[string]any)
	if !ok {
		return &objectStatus{}, nil
	}
	number, _ := list["idx"].(json.Number)
	index, err := strconv.ParseUint(number.String(), 10, 64)
	uri, ok := list["uri"].(string)
	if err != nil || !ok {
		return nil, refuse(ReasonMalformed)
	}
	return &objectStatus{List: &StatusEntry{Index: index, URI: uri}}, nil
}

// provesAgeByPID decides by the statements of age and by the birth date. If they
// contradict each other, they prove nothing.
func provesAgeByPID(claims map[string]any, targetAge int, now time.Time) error {
	var over, under bool
	if value, ok := claims[claimOver]; ok {
		statements, ok := value.(map[string]any)
		if !ok {
			return refuse(ReasonMalformed)
		}
		for name, value := range statements {
			age, err := strconv.ParseUint(name, 10, 8)
			is, ok := value.(bool)
			if err != nil || !ok || strconv.FormatUint(age, 10) != name { // 018 is no name of an age
				return refuse(ReasonMalformed)
			}
			over = over || is && int(age) >= targetAge
			under = under || !is && int(age) <= targetAge
		}
	}
	if value, ok := claims[claimBirth]; ok {
		text, _ := value.(string)
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return refuse(ReasonMalformed)
		}
		born, today := date.Of(day), date.Of(now.UTC())
		if !born.CanBeBirth(today) { // among others 0000, by which OpenID Connect says that there is no year
			return refuse(ReasonNoStatement)
		}
		reached, _ := born.Reached(targetAge, today)
		over, under = over || reached, under || !reached
	}
	return decideAge(over, under)
}
