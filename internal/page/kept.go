package page

import (
	"html/template"
	"sync"
)

// mostKept is how many parts are kept, of some 20 kB each.
const mostKept = 100

// keptParts are rendered parts of screens. A full store is emptied first.
type keptParts struct {
	mu    sync.Mutex
	parts map[keptKey]template.HTML
}

type keptKey struct {
	screen, part, language string
	of                     any
}

func (k *keptParts) get(key keptKey) (template.HTML, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	part, ok := k.parts[key]
	return part, ok
}

func (k *keptParts) put(key keptKey, part template.HTML) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.parts) >= mostKept {
		clear(k.parts)
	}
	k.parts[key] = part
}
