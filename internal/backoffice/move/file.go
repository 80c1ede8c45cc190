package move

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"filippo.io/age"
	"github.com/google/uuid"
)

// Format and Version identify the file's content, which is JSON lines: a Header,
// a line for each Record, and a line with the number of records of each table.
// The content is encrypted as age v1 (age-encryption.org/v1) to a passphrase, so
// age itself opens it too.
const (
	Format  = "agegate tenant"
	Version = 1
)

// maxWork is the work factor of scrypt, a power of two: a file costs about a
// second and 256 MiB. One that asks for more is refused, because otherwise its
// maker would choose how much opening it costs.
const maxWork = 18

// makeWork is the work factor of new files; tests make weaker ones.
var makeWork = maxWork

// MinPassphrase is the smallest number of bytes of a passphrase.
const MinPassphrase = 12

// maxLine bounds one line of the content. The largest value is a brand's logo.
const maxLine = 4 << 20

// Errors of files. They contain nothing of the content.
var (
	ErrPassphrase = errors.New("the passphrase does not open the file")
	ErrDamaged    = errors.New("the file is damaged or not complete: export the tenant again")
	ErrNoFile     = errors.New("the file is no export of a tenant")
	ErrNewer      = errors.New("the file was made by a newer release of agegate")
	ErrWeak       = fmt.Errorf("the passphrase must have at least %d bytes", MinPassphrase)
)

// Header is the first line of a file.
type Header struct {
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	Move      uuid.UUID `json:"move"` // the same in every export until the tenant has moved
	Tenant    uuid.UUID `json:"tenant"`
	MadeAt    time.Time `json:"made_at"`
	VerifyURL string    `json:"verify_url"` // of the hosted page that the tenant leaves
}

// Row is a row of a table by the names of its columns. Values are nil, bool,
// int64, float64, string, []byte or time.Time, on both databases.
type Row map[string]any

// Record is a row with its table.
type Record struct {
	Table string
	Row   Row
}

// Counts are numbers of records by table.
type Counts map[string]int64

// line is a line of the content after the header: a record, or the end.
type line struct {
	Table string         `json:"table,omitempty"`
	Row   map[string]any `json:"row,omitempty"`
	End   *Counts        `json:"end,omitempty"`
}

// Writer writes a file. A file is complete only after Close has returned nil.
type Writer struct {
	sealed io.WriteCloser
	buffer *bufio.Writer
	lines  *json.Encoder
	counts Counts
}

// NewWriter begins a file that the passphrase opens.
func NewWriter(w io.Writer, passphrase string, head Header) (*Writer, error) {
	if len(passphrase) < MinPassphrase {
		return nil, ErrWeak
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(makeWork)
	sealed, err := age.Encrypt(w, recipient)
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriter(sealed)
	head.Format, head.Version = Format, Version
	out := &Writer{sealed, buffer, json.NewEncoder(buffer), Counts{}}
	return out, out.lines.Encode(head)
}

// Write adds a record.
func (w *Writer) Write(r Record) error {
	row := make(map[string]any, len(r.Row))
	for name, value := range r.Row {
		switch v := value.(type) {
		case nil, bool, int64, float64, string:
			row[name] = v
		case []byte:
			row[name] = map[string]string{"base64": base64.StdEncoding.EncodeToString(v)}
		case time.Time:
			row[name] = map[string]string{"time": v.UTC().Format(time.RFC3339Nano)}
		default:
			return fmt.Errorf("move: column %s of %s has a value of type %T", name, r.Table, value)
		}
	}
	w.counts[r.Table]++
	return w.lines.Encode(line{Table: r.Table, Row: row})
}

// Close writes the counts and completes the file. It returns the counts.
func (w *Writer) Close() (Counts, error) {
	err := w.lines.Encode(line{End: &w.counts})
	return w.counts, errors.Join(err, w.buffer.Flush(), w.sealed.Close())
}

// Reader reads a file.
type Reader struct {
	Header Header
	lines  *bufio.Reader
	counts Counts
	done   bool
}

// NewReader opens a file. It returns ErrPassphrase, ErrNoFile, ErrNewer or
// ErrDamaged.
func NewReader(r io.Reader, passphrase string) (*Reader, error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, ErrPassphrase
	}
	identity.SetMaxWorkFactor(maxWork)
	plain, err := age.Decrypt(r, identity)
	var wrong *age.NoIdentityMatchError
	switch {
	case errors.As(err, &wrong):
		return nil, ErrPassphrase
	case err != nil:
		return nil, ErrNoFile
	}
	return newReader(plain)
}

// newReader reads the decrypted content.
func newReader(plain io.Reader) (*Reader, error) {
	in := &Reader{lines: bufio.NewReaderSize(plain, 64<<10), counts: Counts{}}
	text, err := in.line()
	if err != nil {
		return nil, err
	}
	switch err := json.Unmarshal(text, &in.Header); {
	case err != nil || in.Header.Format != Format || in.Header.Tenant == uuid.Nil || in.Header.Move == uuid.Nil:
		return nil, ErrNoFile
	case in.Header.Version > Version:
		return nil, ErrNewer
	}
	return in, nil
}

// line returns the next line of at most maxLine bytes.
func (r *Reader) line() ([]byte, error) {
	var text []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if text = append(text, part...); len(text) > maxLine {
			return nil, ErrDamaged
		}
		switch {
		case err == nil:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, ErrDamaged
		}
	}
}

// Next returns the next record, io.EOF after the last record of a complete file, or
// ErrDamaged.
func (r *Reader) Next() (Record, error) {
	if r.done {
		return Record{}, io.EOF
	}
	text, err := r.line()
	if err != nil {
		return Record{}, err
	}
	var l line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&l); err != nil {
		return Record{}, ErrDamaged
	}
	if l.End != nil {
		if _, err := r.lines.ReadByte(); !errors.Is(err, io.EOF) || !maps.Equal(*l.End, r.counts) {
			return Record{}, ErrDamaged
		}
		r.done = true
		return Record{}, io.EOF
	}
	row := make(Row, len(l.Row))
	for name, value := range l.Row {
		if row[name], err = decoded(value); err != nil {
			return Record{}, err
		}
	}
	if l.Table == "" || len(row) == 0 {
		return Record{}, ErrDamaged
	}
	r.counts[l.Table]++
	return Record{l.Table, row}, nil
}

// Counts returns how many records were read of each table.
func (r *Reader) Counts() Counts { return r.counts }

// decoded returns a value of a row from its form in JSON.
func decoded(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		if f, err := v.Float64(); err == nil {
			return f, nil
		}
	case map[string]any:
		if text, ok := v["base64"].(string); ok && len(v) == 1 {
			if b, err := base64.StdEncoding.DecodeString(text); err == nil {
				return b, nil
			}
		}
		if text, ok := v["time"].(string); ok && len(v) == 1 {
			if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return nil, ErrDamaged
}
