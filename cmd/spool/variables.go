package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// clusterVariable matches what Kubernetes sets in every container of a namespace with a service called
// spool or spool-….
var clusterVariable = regexp.MustCompile(`^SPOOL_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)$`)

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
		if !known && !clusterVariable.MatchString(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// misspelt returns a sentence for each variable that looks like a setting and is none. It is refused, because
// what it was meant to set has another value then. Others may belong to another program, or to a newer Spool.
func (s *settings) misspelt() []string {
	var faults []string
	for _, name := range s.unknown() {
		key := strings.ToLower(strings.TrimPrefix(name, "SPOOL_"))
		best := s.nearest(key)
		if d := distance(best, key); d <= near && d < len(best)/2 {
			faults = append(faults, fmt.Sprintf("there is no setting %s; did you mean %s?", name, envName(best)))
		}
	}
	return faults
}
