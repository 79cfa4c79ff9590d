package audience

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

// places knows the countries of addresses, from a MaxMind file. A newer file at the same path takes its place.
type places struct {
	path  string
	file  atomic.Pointer[maxminddb.Reader]
	since time.Time // of the file
}

// openPlaces opens a file; "": no country is known.
func openPlaces(path string) (*places, error) {
	p := &places{path: path}
	if path == "" {
		return p, nil
	}
	return p, p.load()
}

// load reads the file into memory: one that is mapped could be overwritten while it is read.
func (p *places) load() error {
	info, err := os.Stat(p.path)
	if err != nil {
		return fmt.Errorf("read geo_database: %w", err)
	}
	if info.ModTime().Equal(p.since) {
		return nil
	}
	content, err := os.ReadFile(p.path)
	if err != nil {
		return fmt.Errorf("read geo_database: %w", err)
	}
	file, err := maxminddb.OpenBytes(content)
	if err != nil {
		return fmt.Errorf("%s is no MaxMind database: %w", p.path, err)
	}
	p.since = info.ModTime()
	p.file.Store(file)
	return nil
}

// refresh looks for a newer file. One that cannot be read leaves the one before in use.
func (p *places) refresh(log *slog.Logger) {
	if p.path == "" {
		return
	}
	if err := p.load(); err != nil {
		log.Warn("the file with the countries of addresses could not be read again", "err", err)
	}
}

// country returns the ISO code of the country of an address, or "".
func (p *places) country(addr netip.Addr) string {
	file := p.file.Load()
	if file == nil || !addr.IsValid() {
		return ""
	}
	var code string
	if err := file.Lookup(addr).DecodePath(&code, "country", "iso_code"); err != nil || len(code) != 2 {
		return ""
	}
	return code
}
