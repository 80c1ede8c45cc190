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
	"agegate/internal/pages/dashboard/desk"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"

	"github.com/google/uuid"
)

const evidencePath = "/dashboard/:tenant/evidence"

// packTime limits the time to make a pack, which reads the whole audit log.
const packTime = 30 * time.Second

var evidenceForm = &desk.Form{
	Name: "evidence",
	Fields: []desk.Field{
		{Name: "from", Kind: "date", Max: 10},
		{Name: "to", Kind: "date", Max: 10},
		{Name: "target", Kind: "number", Max: 2},
		{Name: "language", Kind: "select", Options: evidence.Languages},
		{Name: "sessions", Kind: "textarea", Max: 4000, Optional: true, Hint: true},
	},
	Problems: map[error]string{
		evidence.ErrPeriod: "period", evidence.ErrTarget: "target", evidence.ErrReceipts: "receipts",
		evidence.ErrNoResult: "no_result",
	},
}

func (p *Pages) evidence() desk.Feature {
	return desk.Feature{
		Routes: []desk.Route{
			{Method: http.MethodGet, Path: evidencePath, MinRole: desk.Prover, StepUp: desk.Always, Handle: p.showEvidence},
			{Method: http.MethodPost, Path: evidencePath, MinRole: desk.Prover, StepUp: desk.Always, Handle: p.downloadEvidence},
		},
		Screens: []string{"evidence"},
		Forms:   []*desk.Form{evidenceForm},
		Keys:    []string{"evidence.problem.session", "evidence.problem.day", "evidence.problem.broken"},
	}
}

type evidenceView struct {
	desk.Layout
	Form *desk.FormView
	Key  string // ID of the key that signs
	PEM  string
}

func (p *Pages) showEvidence(r *desk.Request) error {
	f, err := r.Blank(evidenceForm)
	if err != nil {
		return err
	}
	today, language := p.cfg.Now().UTC(), p.Set.Language(r)
	if !slices.Contains(evidence.Languages, language) {
		language = evidence.Languages[0]
	}
	f.With("from", today.AddDate(0, -3, 0).Format(time.DateOnly), "to", today.Format(time.DateOnly), "target", "18",
		"language", language)
	return p.evidencePage(r, http.StatusOK, f)
}

func (p *Pages) evidencePage(r *desk.Request, status int, f *desk.FormView) error {
	key := p.cfg.Evidence.Key()
	return r.Show(status, "evidence", &evidenceView{Form: f, Key: key.ID(), PEM: string(key.PEM())})
}

// downloadEvidence answers with the pack, or with the form and what is wrong.
func (p *Pages) downloadEvidence(r *desk.Request) error {
	f, err := r.Read(evidenceForm)
	if err != nil {
		return err
	}
	request := evidenceRequest(r, f)
	if !f.OK() {
		return p.evidencePage(r, http.StatusUnprocessableEntity, f)
	}
	name := "evidence-" + f.Value("from") + "-" + f.Value("to") + ".zip"
	err = r.Download("application/zip", name, func(ctx context.Context, w io.Writer) error {
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
		f.Mark("from", "evidence.problem.broken")
	case fault.CodeOf(err) == fault.NotFound:
		f.Mark("sessions", "evidence.problem.session")
	default:
		if err := f.Refuse(err); err != nil {
			return err
		}
	}
	return p.evidencePage(r, http.StatusUnprocessableEntity, f)
}

// evidenceRequest reads the request from a form and marks what cannot be read.
func evidenceRequest(r *desk.Request, f *desk.FormView) evidence.Request {
	request := evidence.Request{TenantID: r.Access.TenantID(), Language: f.Value("language")}
	for name, day := range map[string]*time.Time{"from": &request.From, "to": &request.To} {
		var err error
		if *day, err = time.Parse(time.DateOnly, f.Value(name)); err != nil {
			f.Mark(name, "evidence.problem.day")
		}
	}
	request.To = request.To.AddDate(0, 0, 1)
	request.TargetAge, _ = strconv.Atoi(f.Value("target")) // 0 is refused like other invalid ages
	for text := range strings.FieldsSeq(f.Value("sessions")) {
		id, err := uuid.Parse(text)
		if err != nil {
			f.Mark("sessions", "evidence.problem.session")
		}
		request.Receipts = append(request.Receipts, id)
	}
	return request
}
