package launch

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLandlockIsJudged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		abi  int
		err  error
		want string // "" means good enough
	}{
		{"switched off at boot", 0, unix.EOPNOTSUPP, "lsm="},
		{"unknown to the kernel", 0, unix.ENOSYS, "newer kernel"},
		{"forbidden by a container", 0, unix.EPERM, "container"},
		{"cannot guard truncation", 2, nil, "version 2"},
		{"just enough", 3, nil, ""},
		{"newer than this program", 99, nil, ""},
	}
	for _, tt := range tests {
		err := judgeLandlock(tt.abi, tt.err)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "--sandbox=off")) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}
