package evidence

import (
	"crypto/ed25519"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agegate/internal/rules/audit"
)

// MaxPack is the maximum size of a pack for Verify, in bytes.
const MaxPack = 64 << 20

// The faults that Verify finds.
var (
	errNoPack    = errors.New("this is no evidence pack")
	errArchive   = errors.New("the pack is damaged, or changed since it was signed")
	errSignature = errors.New("the signature does not fit the manifest")
	errOtherKey  = errors.New("the pack was signed with another key than the given one")
	errFiles     = errors.New("the files are not those that the manifest lists")
	errChain     = errors.New("the audit log's chain does not hold")
)

// Verified is what Verify found in a valid pack.
type Verified struct {
	Manifest Manifest
	Key      PublicKey
	Receipts int
}

// Verify checks a pack by itself: every byte of the archive, the hash of each file, the signature of the manifest,
// the links of the audit log's chain, and the receipts. key is the published key of the installation. If it is nil,
// Verify uses the key in the pack, which shows only that the pack is complete, not who made it.
func Verify(pack []byte, key *PublicKey) (Verified, error) {
	if len(pack) > MaxPack {
		return Verified{}, errNoPack
	}
	files, err := extract(pack)
	if err != nil {
		return Verified{}, err
	}
	if len(files) < 3 || files[0].name != manifestName || files[1].name != signatureName || files[2].name != keyName {
		return Verified{}, errNoPack
	}
	manifest, rest := files[0].data, files[2:]
	own, err := signer(manifest, files[1].data, files[2].data, key)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Key: own}
	if err := json.Unmarshal(manifest, &v.Manifest); err != nil || v.Manifest.Format != Format {
		return Verified{}, fmt.Errorf("the manifest has another format than %d", Format)
	}
	if len(v.Manifest.Files) != len(rest) || v.Manifest.Key != own.ID() {
		return Verified{}, errFiles
	}
	for i, f := range rest {
		if v.Manifest.Files[i] != hashOf(f) {
			return Verified{}, fmt.Errorf("%w: %q", errFiles, f.name)
		}
		if err := v.look(f); err != nil {
			return Verified{}, err
		}
	}
	return v, nil
}

// signer returns the key in a pack if it signed the manifest. If given is not nil, both keys must be the same.
func signer(manifest, signature, text []byte, given *PublicKey) (PublicKey, error) {
	own, err := ParsePublicKey(text)
	switch {
	case err != nil || !slices.Equal(own.PEM(), text) || len(own.key) != ed25519.PublicKeySize ||
		!ed25519.Verify(own.key, manifest, signature):
		return PublicKey{}, errSignature
	case given != nil && !given.Equal(own):
		return PublicKey{}, errOtherKey
	}
	return own, nil
}

// look checks the content of a single file.
func (v *Verified) look(f file) error {
	switch {
	case f.name == chainName:
		return verifyChain(f.data, v.Manifest.AuditHead)
	case strings.HasPrefix(f.name, receiptsDir):
		v.Receipts++
		_, err := VerifyReceipt(string(f.data), v.Key)
		return err
	}
	return nil
}

// verifyChain checks that each link follows the one before, up to the head. The
// first link may follow entries that the pack leaves out.
func verifyChain(text []byte, head AuditHead) error {
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) == 0 {
		return errChain
	}
	var end audit.Head
	for i, row := range rows[1:] {
		seq, err := strconv.ParseInt(row[0], 10, 64)
		var prev, hash audit.Hash
		if err != nil || len(row) != 4 || prev.UnmarshalText([]byte(row[2])) != nil ||
			hash.UnmarshalText([]byte(row[3])) != nil {
			return errChain
		}
		if i == 0 && seq > 1 {
			end = audit.Head{Seq: seq - 1, Hash: prev}
		}
		if seq != end.Seq+1 || prev != end.Hash {
			return fmt.Errorf("%w: entry %d", errChain, seq)
		}
		end = audit.Head{Seq: seq, Hash: hash}
	}
	if (AuditHead{end.Seq, end.Hash}) != head {
		return errChain
	}
	return nil
}

// VerifyLog checks that a log, as exported by agegate audit export, contains the
// end of the pack's chain. The log may have grown since.
func (v Verified) VerifyLog(entries func(yield func(audit.Entry) error) error) error {
	scope := audit.Scope(v.Manifest.TenantID)
	end := audit.Head{}
	found := v.Manifest.AuditHead.Entries == 0
	err := entries(func(e audit.Entry) (err error) {
		if end, err = end.Extend(scope, e); err != nil {
			return err
		}
		found = found || end == audit.Head{Seq: v.Manifest.AuditHead.Entries, Hash: v.Manifest.AuditHead.Hash}
		return nil
	})
	if err == nil && !found {
		err = errors.New("the log does not lead to the pack's head")
	}
	return err
}
