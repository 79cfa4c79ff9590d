// Package problem answers requests that failed: RFC 9457 problem+json. It is the
// only place where an error becomes an HTTP status.
package problem
