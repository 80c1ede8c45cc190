package tenant

import (
	"errors"
	"slices"
	"testing"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

func TestCheckNamesEveryField(t *testing.T) {
	s := NewService(nil, nil, CallbackRule{}, nil, nil)
	blank, http, fragment, bad := " ", "http://shop.example/", "https://shop.example/#x", "bad"
	tooFew, languages, ways, logo := int64(-2), []string{"de", "de"}, []string{"fax"}, []byte("GIF89a")
	err := s.Check(t.Context(), uuid.Nil, Changes{
		Name: &blank, SuccessURL: &http, CancelURL: &bad, WebhookURL: &fragment, PrivacyURL: &bad, HelpURL: &http,
		TermsURL:   &http,
		FreeChecks: &tooFew, AlertBelow: &tooFew, Languages: &languages, DocumentWays: &ways,
		Brand: &BrandChanges{Name: &blank, Colour: &bad, Logo: &logo},
	})
	refused, ok := errors.AsType[*fault.Error](err)
	if !ok || refused.Code != fault.Invalid || refused.Message != "name must not be empty" {
		t.Fatalf("%v", err)
	}
	want := []fault.FieldError{
		{Field: "name", Err: ErrNameEmpty}, {Field: "success_url", Err: ErrURLScheme},
		{Field: "cancel_url", Err: ErrURLSyntax},
		{Field: "webhook_url", Err: ErrURLFragment}, {Field: "privacy_url", Err: ErrURLSyntax},
		{Field: "help_url", Err: ErrURLScheme},
		{Field: "terms_url", Err: ErrURLScheme}, {Field: "free_checks", Err: ErrFreeChecks},
		{Field: "alert_below", Err: ErrAlertBelow},
		{Field: "languages", Err: ErrLanguages}, {Field: "document_ways", Err: ErrDocumentWays},
		{Field: "brand_name", Err: ErrNameEmpty}, {Field: "brand_colour", Err: brand.ErrColour},
		{Field: "brand_logo", Err: brand.ErrLogoFormat},
	}
	if !slices.Equal(refused.Fields, want) {
		t.Errorf("got  %v\nwant %v", refused.Fields, want)
	}
	empty := ""
	if err := s.Check(t.Context(), uuid.Nil,
		Changes{SuccessURL: &empty, WebhookURL: &empty, PrivacyURL: &empty, Brand: ClearedBrand()}); err != nil {
		t.Errorf("clearing: %v", err)
	}
}

func TestCheckLanguages(t *testing.T) {
	for _, tt := range []struct{ given, want []string }{
		{nil, nil}, {[]string{"de"}, []string{"de"}}, {[]string{"tr", "zh-Hans"}, []string{"tr", "zh-Hans"}},
		{Languages, nil}, {append([]string{"tr"},
			slices.DeleteFunc(slices.Clone(Languages), func(l string) bool { return l == "tr" })...), nil},
	} {
		got, err := checkLanguages(tt.given)
		if len(tt.given) > 0 && tt.given[0] == "tr" {
			tt.want = tt.given // a value that differs from the default is kept
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, %v", tt.given, got, err)
		}
	}
	for _, given := range [][]string{{""}, {"xx"}, {"DE"}, {"de", "de"}, {"de fr"}, {"de", "en-GB"}} {
		if got, err := checkLanguages(given); !errors.Is(err, ErrLanguages) {
			t.Errorf("%q: %v, %v", given, got, err)
		}
	}
}

func TestCheckDocumentWays(t *testing.T) {
	for _, tt := range []struct{ given, want []string }{
		{nil, nil}, {[]string{"photo"}, []string{"photo"}}, {[]string{"wallet"}, []string{"wallet"}},
		{[]string{"photo", "wallet"}, nil},
	} {
		got, err := checkDocumentWays(tt.given)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, %v", tt.given, got, err)
		}
		for _, way := range DocumentWays {
			if want := len(tt.given) == 0 || slices.Contains(tt.given, way); (Tenant{DocumentWays: got}).Allows(way) != want {
				t.Errorf("%v allows %s: %t, want %t", tt.given, way, !want, want)
			}
		}
	}
	for _, given := range [][]string{{""}, {"fax"}, {"Photo"}, {"photo", "photo"}, {"wallet photo"}} {
		if got, err := checkDocumentWays(given); !errors.Is(err, ErrDocumentWays) {
			t.Errorf("%q: %v, %v", given, got, err)
		}
	}
}
