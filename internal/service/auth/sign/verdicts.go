package sign

import (
	"strings"
	"sync"
)

// maxVerdicts is how many tokens are remembered: twice this many at most, of about 300 bytes each. A
// player uses the same token for every range and segment of a video.
const maxVerdicts = 4096

// use is a token, and what it is to be valid for.
type use struct {
	purpose        Purpose
	subject, token string
}

// verdicts remembers tokens whose signature is right, with their expiry in milliseconds. Forged ones
// are not kept: anybody can make them. Tokens are found by a hash that nobody outside can compute, so
// the time that takes says nothing about them.
//
// Of two generations the older one is dropped as a whole when the younger is full; what is still in
// use has been copied by then.
type verdicts struct {
	mu         sync.RWMutex
	young, old map[use]int64
}

func (v *verdicts) get(u use) (expires int64, ok bool) {
	v.mu.RLock()
	expires, ok = v.young[u]
	if ok {
		v.mu.RUnlock()
		return expires, true
	}
	expires, ok = v.old[u]
	v.mu.RUnlock()
	if ok {
		v.add(u, expires)
	}
	return expires, ok
}

func (v *verdicts) add(u use, expires int64) {
	u.subject, u.token = strings.Clone(u.subject), strings.Clone(u.token) // not the whole request that they are parts of
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.young) >= maxVerdicts {
		v.old, v.young = v.young, nil
	}
	if v.young == nil {
		v.young = map[use]int64{}
	}
	v.young[u] = expires
}
