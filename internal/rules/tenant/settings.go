package tenant

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

// Languages are the languages of the hosted page as BCP 47 tags, the default first.
var Languages = []string{"en", "ar", "da", "de", "es", "fr", "it", "ja", "nl", "pl", "pt", "pt-PT", "sv", "tr",
	"zh-Hans"}

// Rules that a setting may break, as values of fault.FieldError.Err.
// CallbackRule, names and brands have further rules.
var (
	ErrFreeChecks   = errors.New("free checks must be -1 (unlimited), 0 or more")
	ErrTestCap      = errors.New("the daily cap of test sessions must be -1 (unlimited), 0 or more")
	ErrLanguages    = errors.New("languages must be different ones of " + strings.Join(Languages, ", "))
	ErrDocumentWays = errors.New("the ways of the document check must be different ones of " +
		strings.Join(DocumentWays, ", "))
	ErrMargins = errors.New("margins must be such as 18=9: each target age, from 13 to 60, once, and from 0 to 50 years")
	// ErrLowMargin is returned with the margin below which the operator lets no tenant go.
	ErrLowMargin  = errors.New("a margin must not be below AGEGATE_AGE_MARGIN_MIN")
	ErrAlertBelow = errors.New("the alert must be -1 (never) or from 0 to 1000000000")
)

// maxAlert is the largest alert threshold.
const maxAlert = 1_000_000_000

// Check returns nil, or fault.Invalid for settings that break a rule: Fields has all of them, by the names of
// ChangesTo, and the message describes the first. To decode a logo, Check waits for one of the tenant's turns; it
// returns fault.Unavailable if it gets none.
func (s *Service) Check(ctx context.Context, id uuid.UUID, c Changes) error {
	_, err := s.checked(ctx, id, c)
	return err
}

// DecodeLogo returns an uploaded logo as brand.Logo does, without storing it. It waits
// for one of the tenant's turns, as Check does.
func (s *Service) DecodeLogo(ctx context.Context, id uuid.UUID, upload []byte) ([]byte, error) {
	leave, err := s.logos.Take(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	return brand.Logo(upload)
}

// checked returns the changes in their stored form, or Check's error.
func (s *Service) checked(ctx context.Context, id uuid.UUID, c Changes) (Changes, error) {
	if c.Brand != nil && c.Brand.Logo != nil {
		leave, err := s.logos.Take(ctx, id)
		if err != nil {
			return Changes{}, err
		}
		defer leave()
	}
	var b broken
	if c.Name != nil {
		b.add("name", checkName(*c.Name))
	}
	for _, u := range []struct {
		field, label string
		raw          *string
		check        func(string) error
	}{
		{"success_url", "success URL", c.SuccessURL, s.checkCallback},
		{"cancel_url", "cancel URL", c.CancelURL, s.checkCallback},
		{"webhook_url", "webhook URL", c.WebhookURL, s.checkWebhook},
		{"privacy_url", "privacy URL", c.PrivacyURL, s.rule.CheckLink},
		{"help_url", "help URL", c.HelpURL, s.rule.CheckLink},
		{"terms_url", "terms URL", c.TermsURL, s.rule.CheckLink},
		{"review_url", "review URL", c.ReviewURL, s.rule.CheckLink},
	} {
		if given(u.raw) {
			b.addAs(u.field, u.label+" is not acceptable: ", u.check(*u.raw))
		}
	}
	c.checkLimits(&b)
	if c.Languages != nil {
		languages, err := checkLanguages(*c.Languages)
		b.add("languages", err)
		c.Languages = &languages
	}
	if c.Margins != nil {
		margins, err := checkMargins(*c.Margins, s.Margin.Least)
		b.add("margins", err)
		c.Margins = &margins
	}
	if c.Margin != nil {
		margins, err := checkMargins(c.Margin.in(nil), s.Margin.Least)
		b.add("margin", err)
		if err == nil && len(margins) > 0 {
			c.Margin = &TargetMargin{c.Margin.Target, strings.TrimPrefix(margins[0], c.Margin.prefix())}
		}
	}
	if c.DocumentWays != nil {
		ways, err := checkDocumentWays(*c.DocumentWays)
		b.add("document_ways", err)
		c.DocumentWays = &ways
	}
	c.Brand = c.Brand.checked(&b)
	return c, b.fault()
}

// checkLimits adds the limits that are out of range.
func (c *Changes) checkLimits(b *broken) {
	if c.FreeChecks != nil && *c.FreeChecks < -1 && *c.FreeChecks != DefaultLimit {
		b.add("free_checks", ErrFreeChecks)
	}
	if c.TestCap != nil && *c.TestCap < -1 && *c.TestCap != DefaultLimit {
		b.add("test_cap", ErrTestCap)
	}
	if c.AlertBelow != nil && (*c.AlertBelow < -1 || *c.AlertBelow > maxAlert) {
		b.add("alert_below", ErrAlertBelow)
	}
}

func (s *Service) checkCallback(raw string) error {
	_, err := s.rule.Parse(raw)
	return err
}

func (s *Service) checkWebhook(raw string) error {
	err := s.checkCallback(raw)
	if err == nil && strings.Contains(raw, "#") {
		return ErrURLFragment
	}
	return err
}

// checkLanguages returns the stored form of a choice of Languages. It is empty if all are chosen with the usual
// default, so that languages added later are included too.
func checkLanguages(tags []string) ([]string, error) {
	if !distinct(tags, Languages) {
		return nil, ErrLanguages
	}
	if len(tags) == len(Languages) && tags[0] == Languages[0] {
		return nil, nil
	}
	return tags, nil
}

// checkDocumentWays returns the stored form of a choice of DocumentWays, in their order. It is empty if all are
// chosen, so that ways added later are included too.
func checkDocumentWays(chosen []string) ([]string, error) {
	if !distinct(chosen, DocumentWays) {
		return nil, ErrDocumentWays
	}
	if len(chosen) == 0 || len(chosen) == len(DocumentWays) {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(DocumentWays), func(way string) bool { return !slices.Contains(chosen, way) }),
		nil
}

// distinct reports whether chosen has only elements of all, and each at most once.
func distinct(chosen, all []string) bool {
	for i, one := range chosen {
		if !slices.Contains(all, one) || slices.Contains(chosen[:i], one) {
			return false
		}
	}
	return true
}

// checked returns the changes in their stored form: the colour as hex digits, the logo as brand.Logo returns it.
func (c *BrandChanges) checked(b *broken) *BrandChanges {
	if c == nil {
		return nil
	}
	stored := *c
	if given(c.Name) {
		b.add("brand_name", checkName(*c.Name))
	}
	if given(c.Colour) {
		colour, err := brand.ParseColour(*c.Colour)
		b.add("brand_colour", err)
		digits := string(colour)
		stored.Colour = &digits
	}
	if c.Logo != nil && len(*c.Logo) > 0 {
		logo, err := brand.Logo(*c.Logo)
		b.add("brand_logo", err)
		stored.Logo = &logo
	}
	return &stored
}

// given reports whether a text is set and not empty.
func given(text *string) bool { return text != nil && *text != "" }

// broken collects the fields that break a rule.
type broken struct {
	fields []fault.FieldError
	first  string // the message for the first of them
}

func (b *broken) add(field string, err error) { b.addAs(field, "", err) }

// addAs adds a field whose rule needs an introduction to be understood.
func (b *broken) addAs(field, introduction string, err error) {
	if err == nil {
		return
	}
	if b.fields == nil {
		b.first = introduction + err.Error()
	}
	b.fields = append(b.fields, fault.FieldError{Field: field, Err: err})
}

func (b *broken) fault() error {
	if b.fields == nil {
		return nil
	}
	f := fault.InvalidFields(b.fields...)
	f.Message = b.first
	return f
}
