//go:build crashtest

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/failpoint"
)

// crashPoint makes the process die as by kill -9 when it reaches the point that
// SPOOL_CRASH_AT names. Only test binaries are built with it.
func crashPoint() failpoint.Hook {
	at := failpoint.Point(os.Getenv("SPOOL_CRASH_AT"))
	return func(p failpoint.Point) {
		if p == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
}

// heartbeat is the interval of a worker's heartbeats that SPOOL_TEST_HEARTBEAT
// names, so that a test need not wait 15 seconds until a dead process is missed.
// Without it, or with nonsense, it is the usual one.
func heartbeat() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("SPOOL_TEST_HEARTBEAT"))
	return d
}

// startMemory returns the folder that SPOOL_TEST_MEMORY names. In it the servers of a run of tests, which are
// hundreds, share what the first of them found out about ffmpeg and the sandbox: that is more than half of
// what a start costs.
func startMemory() ffmpeg.Memory {
	if dir := os.Getenv("SPOOL_TEST_MEMORY"); dir != "" {
		return memoryFolder(dir)
	}
	return nil
}

type memoryFolder string

func (m memoryFolder) file(what string) string {
	sum := sha256.Sum256([]byte(what))
	return filepath.Join(string(m), hex.EncodeToString(sum[:]))
}

// Recall returns what was kept.
func (m memoryFolder) Recall(what string) (found []byte, known bool) {
	found, err := os.ReadFile(m.file(what))
	return found, err == nil
}

// Keep writes a file for other servers, whole or not at all. One that fails is missed by nobody.
func (m memoryFolder) Keep(what string, found []byte) {
	f, err := os.CreateTemp(string(m), "part-")
	if err != nil {
		return
	}
	_, err = f.Write(found)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), m.file(what)) != nil {
		_ = os.Remove(f.Name())
	}
}
