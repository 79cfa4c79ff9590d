// Package collector sends traces of the built program to the receiver of the OpenTelemetry collector
// itself. It is a module of its own, so that Spool does not get the collector's dependencies.
// make test-long SUITE=packaging runs it.
package collector
