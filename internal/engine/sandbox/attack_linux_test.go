//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"os"
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
	"make a file without a name", "reserve disk space", "use asynchronous input and output",
	"make a user namespace", "use io_uring", "use BPF", "use userfaultfd", "use performance counters",
}

// TestAttacks tries every attack inside, where it must be denied, and outside,
// where it must work: an attack that is wrong in itself would prove nothing.
func TestAttacks(t *testing.T) {
	t.Parallel()
	s, ffmpeg := openSandbox(t), find(t, "ffmpeg")
	scene := testScene(t)
	inside, err := s.attack(t.Context(), ffmpeg, scene.target)
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

func TestSelfTest(t *testing.T) {
	s, ffmpeg, scratch := openSandbox(t), find(t, "ffmpeg"), t.TempDir()
	start := time.Now()
	if err := s.SelfTest(t.Context(), ffmpeg, scratch); err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(start))
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left %v behind (%v)", left, err)
	}
	if err := s.SelfTest(t.Context(), "/no/such/program", scratch); err == nil {
		t.Error("passed for a program that does not exist")
	}
	if err := (&Sandbox{}).SelfTest(t.Context(), ffmpeg, scratch); err != nil {
		t.Errorf("switched off: %v; want no test", err)
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
