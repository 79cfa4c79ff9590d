package clientcmd

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spool-video/spool/client"
)

// A started upload has a file of a few bytes in $XDG_STATE_HOME/spool/uploads. It holds the Idempotency-Key
// of the video, and its name is a hash of what is uploaded with which options. The same command finds it,
// and with the key the server finds the video and says how much of its file it has. It is removed at the
// end. A lock keeps two processes from sending the same file.

// forgetAfter is when the record of an upload that was not resumed is removed: the server has forgotten the upload.
const forgetAfter = 7 * 24 * time.Hour

// resumeRecord is the file of a started upload.
type resumeRecord struct {
	Server    string    `json:"server"`
	File      string    `json:"file"`
	Key       string    `json:"idempotencyKey"`
	StartedAt time.Time `json:"startedAt"`

	path string
	lock *os.File // holds the lock; nil where nothing can be kept
}

// errUploading means that another process sends the same file.
var errUploading = errors.New("another spool upload is sending this file")

// stateDir returns where started uploads are remembered.
func (env *Environment) stateDir() (string, error) {
	dir, _ := env.Environ("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification says to ignore relative ones
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "spool", "uploads"), nil
}

// remember finds what is known of an upload, or begins it.
func remember(dir, server, file string, info os.FileInfo, v client.NewVideo) (*resumeRecord, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %d %d %s", server, absolute, info.Size(), info.ModTime().UnixNano(), request)
	m := &resumeRecord{path: filepath.Join(dir, hex.EncodeToString(hash.Sum(nil)[:16])+".json")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if m.lock, err = os.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(m.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		m.lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errUploading
		}
		return nil, err
	}
	if err := json.NewDecoder(m.lock).Decode(m); err == nil && m.Key != "" {
		return m, nil
	}
	m.Server, m.File, m.Key, m.StartedAt = server, absolute, rand.Text(), time.Now()
	return m, m.write()
}

// write stores m. What is left of a write that was cut off cannot be decoded, and the upload begins anew.
func (m *resumeRecord) write() error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := m.lock.Truncate(0); err != nil {
		return err
	}
	_, err = m.lock.WriteAt(append(text, '\n'), 0)
	return err
}

// forget removes what is known: the upload has come to its end.
func (m *resumeRecord) forget() { _ = os.Remove(m.path) } // it would expire anyway

// release lets other processes continue the upload.
func (m *resumeRecord) release() {
	if m.lock != nil {
		m.lock.Close()
	}
}

// removeExpired removes records that are too old.
func removeExpired(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > forgetAfter {
			_ = os.Remove(f) // the next upload tries again
		}
	}
}
