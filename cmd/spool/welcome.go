package main

import (
	_ "embed"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"text/template"

	"github.com/spool-video/spool/internal/settings"
)

// welcomeText is printed at the start. People paste its commands into a shell, so they
// use curl, grep and cut only, leave standard input to the shell, which reads the rest of
// them there, and have no comments and no variable called "status", which an interactive
// zsh does not accept.
//
//go:embed welcome.txt
var welcomeText string

var welcomeTemplate = template.Must(template.New("welcome").Parse(welcomeText))

// welcomeWords are what differs between start-up texts.
type welcomeWords struct {
	Address string
	Key     string // that is new; "": none
	Link    string // that opens the console signed in; "": none
	Origin  string // where the settings have an API key; "": they have none
}

// Program is how this program was called.
func (welcomeWords) Program() string { return program() }

// welcome prints where the service is and, if its key is new, how to use it.
func welcome(w io.Writer, words welcomeWords) error { return welcomeTemplate.Execute(w, words) }

// signInLink returns the address that signs in once, for somebody on this machine. Where the service cannot be reached from
// the machine itself by a loopback address, it is "".
func signInLink(addr net.Addr, secret string) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil || secret == "" || !ap.Addr().IsLoopback() && !ap.Addr().IsUnspecified() {
		return ""
	}
	return publicAddress("", addr) + "/signin/link/" + secret
}

// keyOrigin returns where the settings have the API key that this start made valid, in words that continue "It is set ".
func (c *Config) keyOrigin(s *settings.Settings) string {
	if c.APIKey == "" {
		return ""
	}
	for _, key := range []string{"api_key", "api_key_file"} {
		if origin := s.Origin(key); origin != "" {
			return origin
		}
	}
	return "in the settings"
}

// program returns how this program was called, for commands that people paste into a shell in the same
// folder. A name that a shell would not take as it is becomes plain spool.
func program() string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	if name := os.Args[0]; name != "" && strings.Trim(name, plain) == "" {
		return name
	}
	return "spool"
}

// publicAddress returns where a person on this machine finds the service.
func publicAddress(base string, addr net.Addr) string {
	if base != "" {
		return strings.TrimSuffix(base, "/")
	}
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil || !ap.Addr().IsUnspecified() {
		return "http://" + addr.String()
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return "http://127.0.0.1:" + port
}
