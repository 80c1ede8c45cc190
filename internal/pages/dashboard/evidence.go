package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agegate/internal/backoffice/evidence"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

const evidencePath = "/dashboard/:tenant/evidence"

// packTime limits the time to make a pack, which reads the whole audit log.
const packTime = 30 * time.Second

var evidenceForm = &form{
	name: "evidence",
	fields: []field{
		{name: "from", kind: "date", max: 10},
		{name: "to", kind: "date", max: 10, hint: true},
		{name: "target", kind: "number", max: 2, hint: true},
		{name: "language", kind: "select", options: evidence.Languages},
		{name: "sessions", kind: "textarea", max: 4000, optional: true, hint: true},
	},
	problems: map[error]string{
		evidence.ErrPeriod: "period", evidence.ErrTarget: "target", evidence.ErrReceipts: "receipts",
		evidence.ErrNoResult: "no_result",
	},
}

func (p *Pages) evidence() feature {
	return feature{
		routes: []route{
			{method: http.MethodGet, path: evidencePath, minRole: prover, stepUp: always, handle: p.showEvidence},
			{method: http.MethodPost, path: evidencePath, minRole: prover, stepUp: always, handle: p.downloadEvidence},
		},
		screens: []string{"evidence"},
		forms:   []*form{evidenceForm},
		keys:    []string{"evidence.problem.session", "evidence.problem.day", "evidence.problem.broken"},
	}
}

type evidenceView struct {
	layout
	Form *formView
	Key  string // ID of the key that signs
	PEM  string
}

func (p *Pages) showEvidence(r *request) error {
	f, err := r.blank(evidenceForm)
	if err != nil {
		return err
	}
	today, language := p.cfg.Now().UTC(), p.set.Language(r)
	if !slices.Contains(evidence.Languages, language) {
		language = evidence.Languages[0]
	}
	f.With("from", today.AddDate(0, -3, 0).Format(time.DateOnly), "to", today.Format(time.DateOnly), "target", "18",
		"language", language)
	return p.evidencePage(r, http.StatusOK, f)
}

func (p *Pages) evidencePage(r *request, status int, f *formView) error {
	key := p.cfg.Evidence.Key()
	return r.render(status, "evidence", &evidenceView{Form: f, Key: key.ID(), PEM: string(key.PEM())})
}

// downloadEvidence answers with the pack, or with the form and what is wrong.
func (p *Pages) downloadEvidence(r *request) error {
	f, err := r.read(evidenceForm)
	if err != nil {
		return err
	}
	request := r.evidenceRequest(f)
	if !f.ok() {
		return p.evidencePage(r, http.StatusUnprocessableEntity, f)
	}
	name := "evidence-" + f.Value("from") + "-" + f.Value("to") + ".zip"
	err = r.download("application/zip", name, func(ctx context.Context, w io.Writer) error {
		ctx, cancel := context.WithTimeout(ctx, packTime)
		defer cancel()
		pack, err := p.cfg.Evidence.Pack(ctx, request)
		if err == nil {
			_, err = w.Write(pack)
		}
		return err
	})
	if err == nil || r.Response().Committed {
		return err
	}
	broken := (*audit.BrokenError)(nil)
	switch {
	case errors.As(err, &broken):
		f.wrong("from", "evidence.problem.broken")
	case fault.CodeOf(err) == fault.NotFound:
		f.wrong("sessions", "evidence.problem.session")
	default:
		if err := f.refuse(err); err != nil {
			return err
		}
	}
	return p.evidencePage(r, http.StatusUnprocessableEntity, f)
}

// evidenceRequest reads the request from a form and marks what cannot be read.
func (r *request) evidenceRequest(f *formView) evidence.Request {
	request := evidence.Request{TenantID: r.access.TenantID(), Language: f.Value("language")}
	for name, day := range map[string]*time.Time{"from": &request.From, "to": &request.To} {
		var err error
		if *day, err = time.Parse(time.DateOnly, f.Value(name)); err != nil {
			f.wrong(name, "evidence.problem.day")
		}
	}
	request.To = request.To.AddDate(0, 0, 1)
	request.TargetAge, _ = strconv.Atoi(f.Value("target")) // 0 is refused like other invalid ages
	for text := range strings.FieldsSeq(f.Value("sessions")) {
		id, err := uuid.Parse(text)
		if err != nil {
			f.wrong("sessions", "evidence.problem.session")
		}
		request.Receipts = append(request.Receipts, id)
	}
	return request
}
