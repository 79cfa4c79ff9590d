package direct

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// maxHeaders is how many headers a request has that is answered here.
const maxHeaders = 40

var headEnd = []byte("\r\n\r\n")

// parse reads the request at the beginning of b, and returns how many bytes it has: 0 if the request is
// incomplete, or not of the kind that is answered here.
func parse(b []byte, prefix string, r *http.Request) (size int) {
	end := bytes.Index(b, headEnd)
	if end < 0 {
		return 0
	}
	text := string(b[:end+2])
	line, rest, _ := strings.Cut(text, "\r\n")
	method, line, _ := strings.Cut(line, " ")
	path, protocol, _ := strings.Cut(line, " ")
	if method != http.MethodGet && method != http.MethodHead || protocol != "HTTP/1.1" || !strings.HasPrefix(path, prefix) || !consistsOf(path, inPath) {
		return 0
	}
	header := make(http.Header, 8)
	host, ok := parseHeaders(rest, header)
	if !ok {
		return 0
	}
	r.Method, r.RequestURI, r.URL, r.Host, r.Header, r.Body = method, path, &url.URL{Path: path}, host, header, http.NoBody
	r.Proto, r.ProtoMajor, r.ProtoMinor = protocol, 1, 1
	return end + len(headEnd)
}

// parseHeaders reads lines into header, which does not get the host. It reports false unless
// every line is ordinary.
func parseHeaders(lines string, header http.Header) (host string, ok bool) {
	values := make([]string, 0, 8) // one array for the values of most headers
	for n := 0; lines != ""; n++ {
		var line string
		line, lines, _ = strings.Cut(lines, "\r\n")
		name, value, found := strings.Cut(line, ":")
		if !found || n == maxHeaders || !consistsOf(name, inName) {
			return "", false
		}
		value = strings.Trim(value, " \t")
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !isOrdinary(name, value) {
			return "", false
		}
		if name == "Host" {
			if host != "" || !consistsOf(value, inHost) {
				return "", false
			}
			host = value
			continue
		}
		if _, again := header[name]; again || len(values) == cap(values) {
			header[name] = append(header[name], value)
			continue
		}
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	return host, host != ""
}

// isOrdinary reports whether a header changes nothing about how long the request is, or what becomes of
// the connection, and has a value without anything unusual.
func isOrdinary(name, value string) bool {
	switch name {
	case "Connection":
		return strings.EqualFold(value, "keep-alive")
	case "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect", "Http2-Settings", "Proxy-Connection", "Keep-Alive", "Pragma":
		return false
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return true
}

// What may be in a part of a request.
const (
	inName = 1 << iota
	inHost
	inPath
)

// characters says where each one may be. A path with any other is one to think about.
var characters = func() (table [256]byte) {
	for c := range 256 {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
			table[c] = inName | inHost | inPath
		case c == '.':
			table[c] = inHost | inPath
		case c == ':', c == '[', c == ']':
			table[c] = inHost
		case c == '/', c == '_':
			table[c] = inPath
		}
	}
	return table
}()

// consistsOf reports whether s has only characters that may be in such a part, and at least one.
func consistsOf(s string, part byte) bool {
	for i := range len(s) {
		if characters[s[i]]&part == 0 {
			return false
		}
	}
	return s != ""
}
