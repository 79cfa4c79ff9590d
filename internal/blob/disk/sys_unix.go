//go:build linux || darwin || freebsd

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

func inode(fi fs.FileInfo) uint64 { return uint64(fi.Sys().(*syscall.Stat_t).Ino) }

func links(fi fs.FileInfo) uint64 { return uint64(fi.Sys().(*syscall.Stat_t).Nlink) }

// freeBytes returns what an ordinary user may still write to f's file system.
func freeBytes(f *os.File) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0, os.NewSyscallError("fstatfs", err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
