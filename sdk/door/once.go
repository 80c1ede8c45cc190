package door

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// once remembers the codes that were used, until they would have ended by
// themselves.
type once interface {
	// take reports whether a code is used for the first time.
	take(ctx context.Context, code string) bool
}

// newRedis returns a client for what several doors share, or nil without an
// address.
func newRedis(address string) (*redis.Client, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // one door needs none
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("DOOR_REDIS must be such as redis://host:6379") //nolint:err113 // without the password
	}
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options), nil
}

// localOnce is for one door.
type localOnce struct {
	now  func() time.Time
	mu   sync.Mutex
	used map[string]time.Time // when it may be forgotten
}

func (o *localOnce) take(_ context.Context, code string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	for old, end := range o.used {
		if now.After(end) {
			delete(o.used, old)
		}
	}
	_, before := o.used[code]
	o.used[code] = now.Add(2 * codeLife)
	return !before
}

// redisOnce remembers codes for several doors. While Redis does not answer, no code is
// accepted.
type redisOnce struct{ client *redis.Client }

func (o redisOnce) take(ctx context.Context, code string) bool {
	first, err := o.client.SetNX(ctx, "door:code:"+code, 1, 2*codeLife).Result()
	return err == nil && first
}
