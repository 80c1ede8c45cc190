package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"agegate/internal/rules/audit"
)

// Format is the version of the pack format.
const Format = 1

// Names of the files that Verify reads.
const (
	manifestName  = "manifest.json"
	signatureName = "manifest.sig"
	keyName       = "key.pem"
	chainName     = "chain.csv"
	receiptsDir   = "receipts/"
)

// Manifest lists the contents of a pack. Its bytes are signed.
type Manifest struct {
	Format        int        `json:"format"`
	MadeAt        time.Time  `json:"made_at"`
	TenantID      string     `json:"tenant_id"`
	From          string     `json:"from"` // the first day
	To            string     `json:"to"`   // the last day
	Language      string     `json:"language"`
	Release       string     `json:"release"`
	Configuration string     `json:"configuration"`
	Estimator     string     `json:"estimator,omitempty"`
	Calibration   string     `json:"calibration,omitempty"`
	Models        []Model    `json:"models"`
	AuditHead     AuditHead  `json:"audit_head"`
	Key           string     `json:"key"` // ID of the key that signed the pack
	Files         []FileHash `json:"files"`
}

// AuditHead is the end of the tenant's audit log when the pack was made.
type AuditHead struct {
	Entries int64      `json:"entries"`
	Hash    audit.Hash `json:"hash"`
}

// FileHash is a file of the pack.
type FileHash struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

func hashOf(f file) FileHash {
	sum := sha256.Sum256(f.data)
	return FileHash{f.name, hex.EncodeToString(sum[:]), len(f.data)}
}

// text returns the bytes that are signed.
func (m Manifest) text() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}
