package settings

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

// Unknown returns the variables SPOOL_… that are no settings.
func (s *Settings) Unknown() []string {
	if s.Variables == nil {
		return nil
	}
	var all []string
	for _, variable := range s.Variables() {
		name, _, _ := strings.Cut(variable, "=")
		known := name == EnvName("config") || name == EnvName(ServerFlag) || !strings.HasPrefix(name, "SPOOL_") ||
			slices.ContainsFunc(s.Names, func(n string) bool { return EnvName(n) == name })
		if !known && !clusterVariable.MatchString(variable) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Misspelt returns a sentence for each variable that looks like one of some settings and is none: what it was
// meant to set has another value then. Others may belong to another program, or to a newer Spool, which may
// have a list where this one has a single value: an s more is no misspelling.
func (s *Settings) Misspelt(among []string) []string {
	var faults []string
	for _, name := range s.Unknown() {
		key := strings.ToLower(strings.TrimPrefix(name, "SPOOL_"))
		best := nearest(key, among)
		if d := distance(best, key); d <= near && d < len(best)/2 && key != best+"s" {
			faults = append(faults, fmt.Sprintf("there is no setting %s; did you mean %s?", name, EnvName(best)))
		}
	}
	return faults
}
