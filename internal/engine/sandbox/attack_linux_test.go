//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dependOnTheHost are attacks that fail on some hosts even outside the sandbox:
// for want of a privilege, or because the kernel was built without the part.
var dependOnTheHost = []string{
	"trace the server", "read the server's memory", "connect by multipath TCP",
	"open a packet socket", "open a vsock socket", "open a crypto socket",
	"make a file without a name", "reserve disk space", "reserve disk space by ioctl", "use asynchronous input and output",
	"make a user namespace", "use io_uring", "use BPF", "use userfaultfd", "use performance counters",
}

// TestAttacks tries every attack inside, where it must be denied, and outside,
// where it must work: an attack that is wrong in itself would prove nothing.
func TestAttacks(t *testing.T) {
	t.Parallel()
	s, scene := openSandbox(t), testScene(t)
	inside, err := attackFromInside(t.Context(), s, takeover(t, t.TempDir(), "attack"), scene.target)
	if err != nil {
		t.Fatal(err)
	}
	outside := attackFromOutside(t, scene.target)
	for _, n := range needs {
		if inside[n.what] != worked || outside[n.what] != worked {
			t.Errorf("inside, %s: %s; outside: %s; want both to work", n.what, inside[n.what], outside[n.what])
		}
	}
	for _, a := range attacks {
		t.Run(a.what, func(t *testing.T) {
			if got := inside[a.what]; got != denied {
				t.Errorf("inside: %s; want it denied", got)
			}
			want := worked
			if a.what == attacks[len(attacks)-1].what {
				want = "no answer" // it became another program
			}
			got := outside[a.what]
			if got != want && slices.Contains(dependOnTheHost, a.what) {
				t.Logf("this host denies it without a sandbox, too: %s", got)
			} else if got != want {
				t.Errorf("outside: %s; want %s", got, want)
			}
		})
	}
}

func testScene(t *testing.T) *scene {
	t.Helper()
	scene, err := newScene(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scene.close)
	return scene
}

// attackFromInside runs all attacks in a sandbox and returns the result of each.
func attackFromInside(ctx context.Context, s *Sandbox, attacker string, at target) (map[string]string, error) {
	encoded, err := json.Marshal(at)
	if err != nil {
		return nil, err
	}
	may := Policy{Read: []string{at.Input}, WriteDir: at.Out, FileSize: 1 << 20}
	stdout, stderr, err := run(s.Command(ctx, may, attacker, string(encoded)))
	if err != nil {
		return nil, fmt.Errorf("%w: %.500s", err, stderr)
	}
	return readResults(stdout), nil
}

func attackFromOutside(t *testing.T, at target) map[string]string {
	t.Helper()
	encoded, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	out, err := inRole(t.Context(), "attacker outside", targetVariable+"="+string(encoded)).Output()
	if err != nil {
		t.Fatalf("attack from outside: %v", err)
	}
	return readResults(string(out))
}

func TestCheck(t *testing.T) {
	s, program := openSandbox(t), find(t, "true")
	start := time.Now()
	if err := s.Check(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(start))
	if err := s.Check(t.Context(), "/no/such/program"); err == nil {
		t.Error("passed for a program that does not exist")
	}
	if err := (&Sandbox{}).Check(t.Context(), program); err != nil {
		t.Errorf("switched off: %v; want no check", err)
	}
}

// TestFaultsAreNamed judges an attacker that no sandbox held.
func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	found := strings.Join(faults(attackFromOutside(t, testScene(t).target)), ", ")
	for _, want := range []string{
		"can read a file of the server (worked)", "can connect by TCP (worked)", "can start another program (worked)",
		"can become another program (no answer)",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is missing in %q", want, found)
		}
	}
	if strings.Contains(found, "cannot") {
		t.Errorf("blames what works: %q", found)
	}
	if got := faults(readResults("")); len(got) != len(needs)+len(attacks) {
		t.Errorf("a test without an answer has %d faults; want %d", len(got), len(needs)+len(attacks))
	}
}

// Where /proc hides the processes of others, the server is not denied but missing.
func TestAHiddenServerCannotBeRead(t *testing.T) {
	t.Parallel()
	if err := hidden(read("/proc/self/no-such-file")); !errors.Is(err, unix.EACCES) {
		t.Errorf("a process that is not to be seen gives %v; want it denied", err)
	}
	if err := hidden(read("/proc/self/status")); err != nil {
		t.Errorf("a process that can be read gives %v", err)
	}
}
