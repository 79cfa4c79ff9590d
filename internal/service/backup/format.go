package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// format is the version of the file format. A reader refuses a higher one.
const format = 1

// The members of a tar file, in this order; the objects come after the header.
const (
	headerName   = "spool-backup.json"
	objectsRoot  = "objects/"
	tasksName    = "tasks.jsonl.gz"
	rowsName     = "database.jsonl.gz"
	manifestName = "manifest.jsonl"
)

// Header is what a backup says about itself.
type Header struct {
	Format     int       `json:"format"`
	ID         string    `json:"id"`
	Version    string    `json:"version"` // of the Spool that made it
	CreatedAt  time.Time `json:"createdAt"`
	Migrations []string  `json:"migrations"` // that its rows need
}

// errNewer means that a backup is one of a newer version.
var errNewer = errors.New("this backup was made by a newer Spool")

// errUnreleased means that a backup is older than the first release.
var errUnreleased = errors.New("this backup was made by a build of Spool from before its first release, which this one cannot restore")

// check refuses a backup that this version cannot restore.
func (h Header) check() error {
	if h.Format > format {
		return fmt.Errorf("%w (%s): restore it with that version", errNewer, h.Version)
	}
	known := store.KnownMigrations()
	if !slices.Contains(h.Migrations, known[0]) {
		return errUnreleased
	}
	for _, name := range h.Migrations {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%w (%s; it has migration %s, which this one does not know): restore it with that version", errNewer, h.Version, name)
		}
	}
	return nil
}

// entry is a line of the manifest: one member, or one object in a folder.
type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Stored string `json:"stored,omitempty"` // of an object in a folder: where it lies
}

// Summary says what a backup holds. It is the last line of the manifest.
type Summary struct {
	Videos  int64            `json:"videos"`
	Objects int64            `json:"objects"`
	Bytes   int64            `json:"bytes"` // of the objects
	Rows    map[string]int64 `json:"rows"`
	Tasks   int64            `json:"tasks"`

	Deleted []video.ID `json:"deleted,omitempty"` // videos that were deleted while the backup ran
	Removed []string   `json:"removed,omitempty"` // objects of other videos that a client's request has removed meanwhile
	Missing []string   `json:"missing,omitempty"` // objects that were lost before

	SHA256 string `json:"sha256"` // of the lines before, and of the summary without it
}

// checksum returns the checksum of a summary, with the lines before it, which lines has read.
func (s Summary) checksum(lines hash.Hash) (string, error) {
	s.SHA256 = ""
	text, err := json.Marshal(s)
	lines.Write(text)
	return hexSum(lines), err
}

// lastLine is how the summary stands in the manifest.
type lastLine struct {
	End *Summary `json:"end"`
}

// taskLine is a task in a backup.
type taskLine struct {
	Kind     queue.Kind   `json:"kind"`
	Video    video.ID     `json:"video"`
	Number   int          `json:"number"`
	ID       string       `json:"id,omitempty"`
	Tenant   video.Tenant `json:"tenant"`
	Endpoint string       `json:"endpoint,omitempty"`
	Priority int          `json:"priority"`
}

func (t taskLine) task() queue.Task {
	return queue.Task{
		Kind: t.Kind, Video: t.Video, Number: t.Number, ID: t.ID, Tenant: t.Tenant, Endpoint: t.Endpoint, Priority: t.Priority,
	}
}

// lineFile is a file without a name: lines are written to it once, then read as often as necessary. It
// keeps the memory of a large library flat.
type lineFile struct {
	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
}

// newLineFile makes a spool in a folder.
func newLineFile(dir string) (*lineFile, error) {
	f, err := os.CreateTemp(dir, ".spool-backup-*.tmp")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s := &lineFile{file: f, sum: sha256.New()}
	s.out = bufio.NewWriter(io.MultiWriter(f, s.sum))
	return s, nil
}

// Write implements io.Writer.
func (s *lineFile) Write(p []byte) (int, error) { return s.out.Write(p) }

// writeLine writes a value as a line of JSON.
func (s *lineFile) writeLine(value any) error { return json.NewEncoder(s.out).Encode(value) }

// reader returns a reader of everything that was written, and how much that is.
func (s *lineFile) reader() (*io.SectionReader, error) {
	if err := s.out.Flush(); err != nil {
		return nil, err
	}
	size, err := s.file.Seek(0, io.SeekEnd)
	return io.NewSectionReader(s.file, 0, size), err
}

func (s *lineFile) close() { s.file.Close() }

// maxLine is the longest line of a manifest: its summary may name many objects.
const maxLine = 64 << 20

// eachLine calls f with the lines of r.
func eachLine(r io.Reader, f func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// DamagedError means that a backup is not what it was when it was made.
type DamagedError struct {
	path, why string
	object    bool // of a folder; the backups there that do not have it are whole
	noted     bool // the next backup into the folder knows of it
}

func (e *DamagedError) Error() string {
	what := "Nothing of it can be trusted: use another backup"
	if e.object {
		what = "Use another backup of this folder (--snapshot): one that does not have this object may be whole"
	}
	if e.noted {
		what += ". The next spool backup into this folder compares all objects and stores this one again, if the service still has it"
	}
	return fmt.Sprintf("%s is damaged: %s. %s", filepath.Base(e.path), e.why, what)
}

// readManifest calls f with each entry of a manifest and returns its summary.
func readManifest(path string, r io.Reader, f func(entry) error) (*Summary, error) {
	sum := sha256.New()
	var end *Summary
	err := eachLine(r, func(line []byte) error {
		if end != nil {
			return &DamagedError{path: path, why: "the manifest goes on after its end"}
		}
		if bytes.HasPrefix(line, []byte(`{"end":`)) {
			last := lastLine{}
			if err := json.Unmarshal(line, &last); err != nil || last.End == nil {
				return &DamagedError{path: path, why: "the end of the manifest cannot be read"}
			}
			end = last.End
			return nil
		}
		sum.Write(line)
		sum.Write([]byte{'\n'})
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return &DamagedError{path: path, why: "the manifest cannot be read"}
		}
		return f(e)
	})
	if err != nil {
		return nil, err
	}
	if end == nil {
		return nil, &DamagedError{path: path, why: "its manifest is cut off"}
	}
	if seal, err := end.checksum(sum); err != nil || seal != end.SHA256 {
		return nil, &DamagedError{path: path, why: "the checksum of its manifest is wrong"}
	}
	return end, nil
}
