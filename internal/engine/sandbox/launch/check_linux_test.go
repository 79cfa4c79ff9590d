//go:build amd64 || arm64

package launch

import (
	"strings"
	"testing"
)

// Outside of a sandbox, a check has to find out that the layers are off.
func TestACheckFindsWhatIsOff(t *testing.T) {
	t.Parallel()
	if err := (Policy{}).check(); err == nil || !strings.Contains(err.Error(), "Landlock") {
		t.Errorf("without Landlock: %v", err)
	}
	if err := (Policy{Memory: 1, FileSize: 1}).checkLimits(); err == nil || !strings.Contains(err.Error(), "the limit of") {
		t.Errorf("without limits: %v", err)
	}
}
