package audience_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/servicetest"
)

// text is a text in the format of MaxMind, and object a map of pairs.
func text(s string) []byte { return append([]byte{2<<5 | byte(len(s))}, s...) }

func number(n uint16) []byte { return binary.BigEndian.AppendUint16([]byte{5<<5 | 2}, n) }

func wide(n uint32) []byte { return binary.BigEndian.AppendUint32([]byte{6<<5 | 4}, n) }

func object(pairs ...[]byte) []byte {
	return append([]byte{7<<5 | byte(len(pairs)/2)}, bytes.Join(pairs, nil)...)
}

// writeCountries writes a database in which the first half of all IPv4 addresses is in one country, the rest in another.
func writeCountries(t *testing.T, path, low, high string, at time.Time) {
	t.Helper()
	country := func(code string) []byte { return object(text("country"), object(text("iso_code"), text(code))) }
	first, second := country(low), country(high)
	const nodes = 1
	record := func(offset int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(nodes+16+offset))[1:] }
	var file bytes.Buffer
	file.Write(record(0))
	file.Write(record(len(first)))
	file.Write(make([]byte, 16))
	file.Write(first)
	file.Write(second)
	file.WriteString("\xab\xcd\xefMaxMind.com")
	file.Write(object(
		text("binary_format_major_version"), number(2), text("binary_format_minor_version"), number(0), text("build_epoch"), wide(1),
		text("database_type"), text("Country"), text("ip_version"), number(4), text("node_count"), wide(nodes), text("record_size"), number(24)))
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestCountries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	writeCountries(t, path, "DE", "FR", time.Unix(1e9, 0))
	r := servicetest.New(t, func(c *servicetest.Config) { c.Audience = audience.Config{On: true, Days: 400, Geo: path} })
	id := public(t, r)
	r.Must(begin(r, id, at("10.0.0.1"), "session-1").watch(2 * time.Second))
	r.Must(begin(r, id, at("200.0.0.1"), "session-2").watch(time.Second))
	six := at("10.0.0.1")
	six.Network = netip.MustParsePrefix("2001:db8::/64")
	r.Must(begin(r, id, six, "session-3").watch(time.Second)) // the file knows no IPv6

	writeCountries(t, path, "AT", "AT", time.Unix(2e9, 0))
	audience.Refresh(r.Audience, slog.New(slog.DiscardHandler))
	r.Must(begin(r, id, at("10.0.0.1"), "session-4").watch(time.Second))
	if err := os.WriteFile(path, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	audience.Refresh(r.Audience, slog.New(slog.DiscardHandler)) // keeps what it has
	r.Must(begin(r, id, at("10.0.0.1"), "session-5").watch(time.Second))
	if f, _ := read(t, r, id); fmt.Sprint(f.Countries) != "[{AT 2 2s} {DE 1 2s} {FR 1 1s}]" {
		t.Errorf("the countries are %v", f.Countries)
	}
	if _, err := audience.New(audience.Config{Geo: path}, audience.Parts{}); err == nil {
		t.Error("a file that is no database is opened")
	}
}
