package s3

import (
	"bytes"
	"io"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// Pieces of a film are read up to the tables at their end, and a thousand of
// them are open at once: none may hold a connection until it is closed. Nothing
// but the object itself knows whether it does.
func TestRunThatStopsNearTheEndKeepsNoConnection(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, err := Open(t.Context(), server.URL(server.Bucket(t), ""), Options{Credentials: server.Credentials()})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), mib/16)
	if _, err := s.Put(t.Context(), "piece", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	o, err := s.raw.open(t.Context(), "piece")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	samples := io.NewSectionReader(o, 48, mib-48-windowSize/2)
	half := make([]byte, samples.Size()/2)
	if _, err := io.ReadFull(samples, half[:len(half)/2]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(samples, half[len(half)/2:]); err != nil || o.run == nil {
		t.Fatalf("reads that follow each other: %v; want a run", err)
	}
	rest, err := io.ReadAll(samples)
	if err != nil || !bytes.Equal(append(half, rest...), content[48:mib-windowSize/2]) {
		t.Errorf("reading gave %d bytes, %v; or other ones", len(half)+len(rest), err)
	}
	if o.run != nil {
		t.Error("the request for the rest is still open")
	}
}
