package disk

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// maxIdle is how many files stay open without a reader.
	maxIdle = 64
	// idleTime is the least time that a file stays open without a reader; it may be twice as long. It is short
	// because a deleted file takes space while it is open. Delete does not wait for it.
	idleTime = time.Second
)

// version says which file a name stands for. What an ETag is made of is part of it: as long as it is the
// same, so is the content.
type version struct {
	device, inode uint64
	modified      int64 // nanoseconds
	size          int64
}

// idleFiles keeps files open that were just read, because a player asks for a video in many ranges a second. A
// file has one reader at a time, because readers move its position. Callers of take look up the version of the
// name in the file system first.
type idleFiles struct {
	mu     sync.Mutex
	byKey  map[string][]idleFile // the one that was read last is the last
	count  int
	timer  *time.Timer // runs while there are any
	closed bool
}

type idleFile struct {
	file    *os.File
	info    blob.Info
	version version
	since   time.Time
}

// has reports whether it is worthwhile to ask for the version of an object.
func (i *idleFiles) has(key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.byKey[key]) > 0
}

// take returns an open file of this version, if there is one. Files of other versions are closed.
func (i *idleFiles) take(key string, v version) (f idleFile, ok bool) {
	var others []idleFile
	defer func() { closeAll(others) }()
	i.mu.Lock()
	defer i.mu.Unlock()
	files := i.byKey[key]
	if len(files) == 0 {
		return idleFile{}, false
	}
	f = files[len(files)-1]
	if f.version != v {
		others = i.forget(key)
		return idleFile{}, false
	}
	i.set(key, files[:len(files)-1])
	return f, true
}

// add keeps a file for the next reader. It reports false if there is no room.
func (i *idleFiles) add(f idleFile) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || i.count >= maxIdle {
		return false
	}
	if i.byKey == nil {
		i.byKey = map[string][]idleFile{}
	}
	f.since = time.Now()
	i.set(f.info.Key, append(i.byKey[f.info.Key], f))
	if i.timer == nil {
		i.timer = time.AfterFunc(idleTime, i.sweep)
	}
	return true
}

// set replaces the files of a key.
func (i *idleFiles) set(key string, files []idleFile) {
	i.count += len(files) - len(i.byKey[key])
	if len(files) == 0 {
		delete(i.byKey, key)
		return
	}
	i.byKey[key] = files
}

// drop closes the files of a key, which stands for another file now or for none.
func (i *idleFiles) drop(key string) {
	i.mu.Lock()
	files := i.forget(key)
	i.mu.Unlock()
	closeAll(files)
}

// forget returns the files of a key, for closeAll.
func (i *idleFiles) forget(key string) []idleFile {
	files := i.byKey[key]
	i.set(key, nil)
	return files
}

// closeAll must be called without the lock. The last Close of a deleted file frees its space, which takes the
// kernel a part of a second for a large one; no other reader is to wait for that.
func closeAll(files []idleFile) {
	for _, f := range files {
		_ = f.file.Close() // it was only read
	}
}

// sweep closes files that have been idle for idleTime.
func (i *idleFiles) sweep() {
	var old []idleFile
	defer func() { closeAll(old) }()
	i.mu.Lock()
	defer i.mu.Unlock()
	before := time.Now().Add(-idleTime)
	for key, files := range i.byKey {
		n := 0
		for n < len(files) && files[n].since.Before(before) {
			n++
		}
		old = append(old, files[:n]...)
		i.set(key, files[n:])
	}
	if i.timer = nil; i.count > 0 {
		i.timer = time.AfterFunc(idleTime, i.sweep)
	}
}

// close closes all of them, and keeps no more.
func (i *idleFiles) close() {
	var all []idleFile
	defer func() { closeAll(all) }()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for key := range i.byKey {
		all = append(all, i.forget(key)...)
	}
}

// openIdle returns the object if its file is open already.
func (s *rawStore) openIdle(key string) *object {
	if !s.idle.has(key) {
		return nil
	}
	v, ok := versionOf(s.folder, key)
	if !ok {
		s.idle.drop(key)
		return nil
	}
	f, ok := s.idle.take(key, v)
	if !ok {
		return nil
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		_ = f.file.Close() // it was only read
		return nil
	}
	return &object{File: f.file, info: f.info, version: f.version, idle: &s.idle}
}

// Close keeps the file open for the next reader, if that is of use. The object cannot be read afterwards, nor
// meanwhile. Only the first call does anything: the file may be another reader's before the second one.
func (o *object) Close() error {
	if o.closed.Swap(true) {
		return os.ErrClosed
	}
	f := o.File
	if o.idle == nil || o.version == (version{}) {
		return f.Close()
	}
	o.File = nil
	if !o.idle.add(idleFile{file: f, info: o.info, version: o.version}) {
		return f.Close()
	}
	return nil
}
