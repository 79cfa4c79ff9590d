package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
)

// Cause is why a request got no complete response.
type Cause string

const (
	NotAllowed       Cause = "not_allowed"     // the address, or the target of a redirect
	UnknownHost      Cause = "unknown_host"    // DNS does not know the name, or does not answer
	TimedOut         Cause = "timed_out"       // connecting, waiting or receiving took too long
	BadCertificate   Cause = "bad_certificate" // not valid, expired, or of another host
	NoTLS            Cause = "no_tls"          // the server speaks no TLS, or no version that we accept
	Refused          Cause = "refused"         // no server listens there
	Unreachable      Cause = "unreachable"     // there is no way to the address
	TooManyRedirects Cause = "too_many_redirects"
	TooLarge         Cause = "too_large"  // the response
	Canceled         Cause = "canceled"   // by the caller
	BrokenOff        Cause = "broken_off" // anything else: cut off, or no HTTP
)

// sentences are the causes for people.
var sentences = map[Cause]string{
	NotAllowed:       "The address is not allowed: it does not belong to the public internet, or is not https.",
	UnknownHost:      "The name of the host could not be resolved.",
	TimedOut:         "The server did not answer in time.",
	BadCertificate:   "The certificate of the server is not valid for this address.",
	NoTLS:            "The server does not speak TLS on this port.",
	Refused:          "The server refused the connection.",
	Unreachable:      "The server cannot be reached.",
	TooManyRedirects: "The server redirected too often.",
	TooLarge:         "The response of the server is too large.",
	Canceled:         "The request was canceled.",
	BrokenOff:        "The connection broke off, or the server did not answer with HTTP.",
}

// Sentence describes a cause to a person. It names no address.
func (c Cause) Sentence() string { return sentences[c] }

// CauseOf returns why a request failed; "" for nil.
func CauseOf(err error) Cause {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*NotAllowedError](err); ok {
		return NotAllowed
	}
	for _, c := range []struct {
		err   error
		cause Cause
	}{
		{errRedirects, TooManyRedirects}, {errTooLarge, TooLarge}, {errIdle, TimedOut},
		{http.ErrSchemeMismatch, NoTLS}, {syscall.ECONNREFUSED, Refused},
		{syscall.EHOSTUNREACH, Unreachable}, {syscall.ENETUNREACH, Unreachable}, {syscall.EADDRNOTAVAIL, Unreachable},
		{context.Canceled, Canceled}, {context.DeadlineExceeded, TimedOut}, {os.ErrDeadlineExceeded, TimedOut},
	} {
		if errors.Is(err, c.err) {
			return c.cause
		}
	}
	return causeByType(err)
}

func causeByType(err error) Cause {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return UnknownHost
	}
	if badCertificate(err) {
		return BadCertificate
	}
	if isNoTLS(err) {
		return NoTLS
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return TimedOut
	}
	return BrokenOff
}

func badCertificate(err error) bool {
	_, verify := errors.AsType[*tls.CertificateVerificationError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return verify || invalid || host || unknown
}

func isNoTLS(err error) bool {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return header || alert
}
