package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// clusterVariable matches what Kubernetes sets in every container of a namespace with a service called
// spool or spool-…. One that ends with PORT itself is an address.
var clusterVariable = regexp.MustCompile(`^SPOOL_(.*_)?(SERVICE_HOST=|SERVICE_PORT(_[^=]*)?=|PORT=(tcp|udp|sctp)://|PORT_[0-9]+_(TCP|UDP|SCTP)(_[^=]*)?=)`)

// near is how many letters of a variable may differ from a setting for it to be a misspelling.
const near = 2

// unknown returns the variables SPOOL_… that are no settings.
func (s *settings) unknown() []string {
	if s.variables == nil {
		return nil
	}
	var all []string
	for _, variable := range s.variables() {
		name, _, _ := strings.Cut(variable, "=")
		known := name == envName("config") || name == envName(serverFlag) || !strings.HasPrefix(name, "SPOOL_") ||
			slices.ContainsFunc(s.names, func(n string) bool { return envName(n) == name })
		if !known && !clusterVariable.MatchString(variable) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// misspelt returns a sentence for each variable that looks like one of some settings and is none: what it was
// meant to set has another value then. Others may belong to another program, or to a newer Spool, which may
// have a list where this one has a single value: an s more is no misspelling.
func (s *settings) misspelt(among []string) []string {
	var faults []string
	for _, name := range s.unknown() {
		key := strings.ToLower(strings.TrimPrefix(name, "SPOOL_"))
		best := nearest(key, among)
		if d := distance(best, key); d <= near && d < len(best)/2 && key != best+"s" {
			faults = append(faults, fmt.Sprintf("there is no setting %s; did you mean %s?", name, envName(best)))
		}
	}
	return faults
}

// checkVariables returns why a command is not run because of a misspelt variable. Only a server is not started,
// which would serve in another way than was meant. Whoever uses another command is warned: the variable may be
// for that server.
func (p *process) checkVariables(command string) []string {
	switch command {
	case "serve":
		return p.settings.misspelt(p.settings.names)
	case "completion", "version":
		return nil
	}
	if all := p.settings.misspelt(append(slices.Clone(p.settings.names), serverFlag)); len(all) > 0 {
		fmt.Fprintf(p.stderr, "spool: warning: %s\n", strings.Join(all, " "))
	}
	return nil
}
