//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
