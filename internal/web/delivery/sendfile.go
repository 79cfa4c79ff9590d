package delivery

import (
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/backend/blob"
)

// The headers with which a proxy is told to send a file itself.
const (
	XAccelRedirect = "X-Accel-Redirect" // nginx
	XSendfile      = "X-Sendfile"       // Apache, lighttpd
)

// accelPrefix is the location of nginx in which the keys of objects are paths.
const accelPrefix = "/spool-objects/"

// askSendfile is the header in which a proxy says that it can do that, as for Rack.
const askSendfile = "X-Sendfile-Type"

// Sendfile says which proxies send files themselves, and how they are told.
type Sendfile struct {
	Header  string         // XAccelRedirect or XSendfile; "" turns it off
	Proxies []netip.Prefix // may ask for it; they must not pass on this header from their own clients
	Dir     string         // where the objects are, for XSendfile
}

// handOver lets the proxy that the request came through send an object, ranges and conditions
// included. It reports false if the object must be sent from here: it is not in the storage, or
// the proxy did not ask. Any other client would get the name of a file instead of the file.
func (s Sendfile) handOver(w http.ResponseWriter, r *http.Request, info blob.Info) bool {
	if s.Header == "" || info.Key == "" || r.Header.Get(askSendfile) != s.Header || !s.isProxy(r) {
		return false
	}
	at := accelPrefix + info.Key
	if s.Header == XSendfile {
		at = path.Join(s.Dir, info.Key)
	}
	h := w.Header()
	h.Set(s.Header, at)
	h.Del("ETag") // the proxy makes its own, and compares with that
	// If a cache stores this answer, Vary keeps it from clients that did not ask like this. An answer with
	// the file itself needs no Vary, because any client can use it.
	h.Set("Vary", strings.Join(append(h.Values("Vary"), askSendfile), ", "))
	w.WriteHeader(http.StatusOK)
	return true
}

// isProxy reports whether a request comes from one of the proxies.
func (s Sendfile) isProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	addr := peer.Addr().Unmap()
	return err == nil && slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}
