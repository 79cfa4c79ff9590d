// Package abuse attacks the built program as a hostile client would, and measures
// what the server and its other clients notice of it. It has tests only. make test-long SUITE=abuse
// runs them and writes docs/abuse.md.
//
// Attackers, and the client whose response times are measured, are processes of
// their own: this test binary in another role (see roles_test.go). Attackers run
// with the lowest priority, because real ones have machines of their own. What they
// make the server do has the priority of the server.
package abuse
