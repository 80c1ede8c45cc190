package account

import (
	"encoding/base64"
	"net/url"
	"time"
)

// DraftTTL is how long a filled form is kept while its sender confirms who they are.
const DraftTTL = 10 * time.Minute

// SealDraft returns the values of a filled form, sealed for its sender and its page.
func (s *Service) SealDraft(who Identity, page string, values url.Values) (string, error) {
	sealed, err := s.sealer.Seal([]byte(values.Encode()), draftContext(who, page))
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// OpenDraft returns what SealDraft sealed for the same user and page, or nil.
func (s *Service) OpenDraft(who Identity, page, sealed string) url.Values {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || s.sealer == nil {
		return nil
	}
	plain, err := s.sealer.Open(raw, draftContext(who, page))
	if err != nil {
		return nil
	}
	values, _ := url.ParseQuery(string(plain)) // it was written by Encode
	return values
}

func draftContext(who Identity, page string) string {
	return "draft|" + who.User().ID.String() + "|" + page
}
