package desk

import (
	"net/http"
	"net/url"

	"agegate/internal/backoffice/account"
)

// draftCookie holds a filled form, sealed, while its sender confirms who they are.
const draftCookie = "agegate-draft"

// maxDraft is what fits into a cookie of every browser, in bytes.
const maxDraft = 3800

// KeepDraft keeps the values of the form that was sent, for the page to which the sender will return. It leaves
// out secrets and files, and keeps nothing if the form is too large for a cookie.
func (r *Request) KeepDraft(page string) error {
	if r.Route.form == nil || r.Route.Method == http.MethodGet {
		return nil
	}
	if err := r.parse(); err != nil {
		return err
	}
	values := url.Values{}
	for _, field := range r.Route.form.Fields {
		if value := r.Request().PostForm.Get(field.Name); value != "" && !field.secret() {
			values.Set(field.Name, value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	sealed, err := r.desk.cfg.Accounts.SealDraft(r.Who, page, values)
	if err == nil && len(sealed) <= maxDraft {
		r.PutCookie(draftCookie, sealed, account.DraftTTL)
	}
	return err
}

// resume fills in the draft of the request's page, once.
func (r *Request) resume(v *FormView) {
	sealed := r.CookieValue(draftCookie)
	if sealed == "" {
		return
	}
	draft := r.desk.cfg.Accounts.OpenDraft(r.Who, r.Request().URL.Path, sealed)
	if draft == nil {
		return
	}
	r.DropCookie(draftCookie)
	for i, field := range v.Fields {
		if field.Kind != "password" {
			v.Fields[i].Value = draft.Get(field.Name)
		}
	}
}
