package launch

import (
	"os"
	"os/exec"
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
		err := checkLandlock(tt.abi, tt.err)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "--sandbox=off")) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// TestARefusalOfLandlockIsExplained runs itself again under a filter that forbids to use Landlock, as the one of
// a container may.
func TestARefusalOfLandlockIsExplained(t *testing.T) {
	const inside = "TEST_UNDER_A_FILTER"
	if os.Getenv(inside) == "" {
		if _, err := Available(); err != nil {
			t.Skip(err)
		}
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), inside+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	code := append(load32(numberWord), jump(unix.BPF_JEQ, unix.SYS_LANDLOCK_RESTRICT_SELF, 0, 1), ret(refuse(unix.EPERM)), ret(unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := load(code); err != nil {
		t.Fatal(err)
	}
	err := restrictFiles(Policy{}, Program{Path: os.Args[0]})
	if err == nil || strings.Contains(err.Error(), "BUG") || !strings.Contains(err.Error(), "--sandbox=off") || !strings.Contains(err.Error(), "landlock_restrict_self: operation not permitted") {
		t.Errorf("the refusal is explained as %v", err)
	}
}
