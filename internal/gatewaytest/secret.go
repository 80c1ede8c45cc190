package gatewaytest

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// BadSecret is a wrong value that a shop may have in place of a secret, and the
// key with which someone who knows this could sign.
type BadSecret struct {
	Text string
	Key  []byte
}

// BadSecrets returns secrets that are empty, damaged or of another length. The
// keys of the map name the fault.
func BadSecrets(prefixes ...string) map[string]BadSecret {
	bytes := func(n int) []byte { return []byte(strings.Repeat("k", n)) }
	bad := map[string]BadSecret{"under no secret": {"", nil}, "under a secret that says undefined": {"undefined", nil}}
	for _, prefix := range prefixes {
		for name, text := range map[string]string{
			"the prefix alone": "", "padding": "====", "a space": " ", "what is not base64": "!!!!", "one character": "A",
			"zeros": "AAAA",
		} {
			bad["under "+prefix+" and "+name] = BadSecret{prefix + text, nil}
		}
		for _, n := range []int{16, 31, 33, 64} {
			bad[fmt.Sprintf("under %s and %d bytes", prefix,
				n)] = BadSecret{prefix + base64.StdEncoding.EncodeToString(bytes(n)), bytes(n)}
		}
	}
	return bad
}
