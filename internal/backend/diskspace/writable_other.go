//go:build !linux

package diskspace

import "golang.org/x/sys/unix"

func tryFile(dir string) error { return unix.Access(dir, unix.W_OK) }
