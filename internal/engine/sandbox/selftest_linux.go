package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// SelfTest tries to break out of the sandbox that bin would run in, and to take
// more than it gives. It returns an error that names everything that worked. It
// uses a folder of its own below scratch and leaves nothing there. It must have
// returned before others use the sandbox: what it finds out is in the report.
func (s *Sandbox) SelfTest(ctx context.Context, bin, scratch string) error {
	if !s.report.confines() {
		return nil
	}
	scene, err := newScene(scratch)
	if err != nil {
		return fmt.Errorf("prepare the test of the sandbox: %w", err)
	}
	defer scene.close()
	results, err := s.attack(ctx, bin, scene.target)
	if err != nil {
		return fmt.Errorf("test the sandbox: %w", err)
	}
	flooded, err := s.floodAll(ctx, bin, scene.dir)
	if err != nil {
		return fmt.Errorf("test the limits of the sandbox: %w", err)
	}
	if found := append(faults(results), flooded...); len(found) > 0 {
		return fmt.Errorf("the sandbox does not hold: a program inside %s", strings.Join(found, ", "))
	}
	return nil
}

// faults names what should have worked and did not, and what should have been
// denied and was not. An attack that failed for another reason was not stopped
// by the sandbox.
func faults(results map[string]string) []string {
	var found []string
	for _, n := range needs {
		if got := results[n.what]; got != worked {
			found = append(found, fmt.Sprintf("cannot %s (%s)", n.what, got))
		}
	}
	for _, a := range attacks {
		if got := results[a.what]; got != denied {
			found = append(found, fmt.Sprintf("can %s (%s)", a.what, got))
		}
	}
	return found
}

// attack runs all attacks in a sandbox and returns the result of each.
func (s *Sandbox) attack(ctx context.Context, bin string, t target) (map[string]string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	policy := Policy{Read: []string{t.Input}, WriteDir: t.Out, FileSize: 1 << 20}
	child := newChild(ctx, policy, bin)
	if child.Cmd.Err != nil {
		return nil, child.Cmd.Err
	}
	if err := child.confineTrial(policy, trial{Attack: &t}, s.threads); err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	child.Cmd.Stdout, child.Cmd.Stderr = &stdout, &stderr
	if err := child.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return readResults(stdout.String()), nil
}

// readResults reads what attackAll wrote. An attempt without a result ended the
// process, or became another program.
func readResults(text string) map[string]string {
	results := map[string]string{}
	for _, a := range slices.Concat(needs, attacks) {
		results[a.what] = "no answer"
	}
	for line := range strings.Lines(text) {
		what, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		results[what] = result
	}
	return results
}

// scene is what an attacker would find outside, and what it was given.
type scene struct {
	target target
	dir    string
	open   []interface{ Close() error }
}

func newScene(scratch string) (_ *scene, err error) {
	dir, err := os.MkdirTemp(scratch, "sandbox-test-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	s := &scene{dir: dir, target: target{
		Server: os.Getpid(),
		Input:  filepath.Join(dir, "in", "source"), Out: filepath.Join(dir, "out"),
		Secret: filepath.Join(dir, "secret"), Unix: "@" + filepath.Base(dir),
	}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := errors.Join(
		os.Mkdir(s.target.Out, 0o700), os.Mkdir(filepath.Dir(s.target.Input), 0o700),
		os.WriteFile(s.target.Input, []byte(content), 0o600), os.WriteFile(s.target.Secret, []byte(content), 0o600),
	); err != nil {
		return nil, err
	}
	return s, s.listen()
}

// listen opens the sockets that a program inside must not be able to reach.
func (s *scene) listen() error {
	tcp, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	s.open = append(s.open, tcp)
	s.target.TCP = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	s.open = append(s.open, udp)
	s.target.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	local, err := net.Listen("unix", s.target.Unix)
	if err != nil {
		return err
	}
	s.open = append(s.open, local)
	return nil
}

func (s *scene) close() {
	for _, c := range s.open {
		_ = c.Close()
	}
	_ = os.RemoveAll(s.dir) // what stays is swept with the rest of the scratch folder
}
