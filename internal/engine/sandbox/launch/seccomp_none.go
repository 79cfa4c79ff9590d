//go:build linux && !amd64 && !arm64

package launch

import "errors"

func checkSeccomp() error {
	return errors.New("its filter of system calls is made for amd64 and arm64 only; start with --sandbox=off to run ffmpeg without protection")
}

func restrictCalls(Policy) error { return checkSeccomp() }
