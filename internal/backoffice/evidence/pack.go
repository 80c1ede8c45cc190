package evidence

import (
	"context"
	"slices"

	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
)

// Pack creates a pack. It returns fault.NotFound for an unknown tenant or
// session, fault.Invalid for a request that cannot be fulfilled, and an
// *audit.BrokenError if the audit log is broken: no evidence can be given then.
func (s *Service) Pack(ctx context.Context, r Request) ([]byte, error) {
	now := s.now()
	if err := r.check(now); err != nil {
		return nil, err
	}
	of, err := s.store.TenantByID(ctx, r.TenantID)
	if err != nil {
		return nil, err
	}
	receipts, err := s.receipts(ctx, r)
	if err != nil {
		return nil, err
	}
	counted, err := s.tally(ctx, r)
	if err != nil {
		return nil, err
	}
	entries, err := s.readLog(ctx, r)
	if err != nil {
		return nil, err
	}
	outcomeFile := counted.file(r.From, r.To) // counts what is stated
	v := s.statement(r, of, entries)
	v.MadeAt = now
	v.Outcomes = counted.stated()
	v.figures()
	files, err := v.write(r.Language)
	if err != nil {
		return nil, err
	}
	figures, err := s.about.figures()
	if err != nil {
		return nil, err
	}
	files = slices.Concat(files, figures, []file{outcomeFile}, entries.files(), receipts)
	return s.sign(r, entries, files)
}

// statement returns the data for the texts, except the figures.
func (s *Service) statement(r Request, of tenant.Tenant, entries log) statement {
	margin := of.Margin(r.TargetAge, s.about.Margin)
	v := statement{
		About: s.about, Tenant: of, From: r.From, Last: r.To.AddDate(0, 0, -1), Target: r.TargetAge,
		Margin: margin, Cutoff: float64(r.TargetAge) + margin, Head: entries.head, Changes: entries.summary(),
		Languages: of.Languages, Review: of.Links.ReviewURL, MinCount: MinCount,
	}
	if len(v.Languages) == 0 {
		v.Languages = tenant.Languages
	}
	if of.OffersDocument() {
		for _, way := range s.about.DocumentWays {
			if of.Allows(string(way)) {
				v.Ways = append(v.Ways, string(way))
			}
		}
	}
	return v
}

// receipts returns the receipts for the sessions in a request.
func (s *Service) receipts(ctx context.Context, r Request) (files []file, err error) {
	ids := slices.Clone(r.Receipts)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(ids) {
		receipt, err := s.Receipt(ctx, r.TenantID, id)
		if err != nil {
			return nil, err
		}
		files = append(files, file{receiptsDir + id.String() + ".jwt", []byte(receipt + "\n")})
	}
	return files, nil
}

// Receipt returns the signed receipt of a tenant's session. It returns fault.NotFound, even for another tenant's
// session, and ErrNoResult for a session without a result.
func (s *Service) Receipt(ctx context.Context, tenantID, id uuid.UUID) (string, error) {
	found, err := s.store.SessionByID(ctx, tenantID, id)
	if err != nil {
		return "", err
	}
	return s.key.receipt(s.about.BaseURL, found, s.now())
}

// sign adds the manifest, its signature and the public key in front of the files and returns the archive.
func (s *Service) sign(r Request, entries log, files []file) ([]byte, error) {
	public := s.key.Public()
	files = append([]file{{keyName, public.PEM()}}, files...)
	m := Manifest{
		Format: Format, MadeAt: s.now(), TenantID: r.TenantID.String(), From: r.From.Format("2006-01-02"),
		To: r.To.AddDate(0, 0, -1).Format("2006-01-02"), Language: r.Language, Release: s.about.Release,
		Configuration: s.about.Configuration, Estimator: s.about.Estimator, Calibration: s.about.Calibration,
		Models: append([]Model{}, s.about.Models...), AuditHead: AuditHead{entries.head.Seq, entries.head.Hash},
		Key: public.ID(),
	}
	for _, f := range files {
		m.Files = append(m.Files, hashOf(f))
	}
	text, err := m.text()
	if err != nil {
		return nil, err
	}
	return archive(append([]file{{manifestName, text}, {signatureName, s.key.sign(text)}}, files...))
}
