//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPlaylistsCannotReachOtherFiles gives ffmpeg uploads that are lists of
// other people's videos, and none of the options that would make it refuse them.
func TestPlaylistsCannotReachOtherFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		playlist func(other string) string
		newest   bool // works outside with every ffmpeg; otherwise with 5.1
	}{
		{"HLS with the path of another video", func(other string) string {
			return "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + other + "\n#EXT-X-ENDLIST\n"
		}, false},
		{"ffconcat with a video of the same folder", func(other string) string {
			return "ffconcat version 1.0\nfile " + filepath.Base(other) + "\n"
		}, true},
	}
	confined, ffmpeg := openSandbox(t), find(t, "ffmpeg")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t)
			other := filepath.Join(filepath.Dir(j.source), "other.mp4")
			makeVideo(t, other, "64x64")
			if err := os.WriteFile(j.source, []byte(tt.playlist(other)), 0o600); err != nil {
				t.Fatal(err)
			}
			steal := func(s *Sandbox, name string) (bool, string) {
				path := filepath.Join(j.out, name)
				_, stderr, err := run(s.Command(t.Context(), j.policy(), ffmpeg, encode(j, "-c", "copy", "file:"+path)...))
				info, statErr := os.Stat(path)
				return err == nil || statErr == nil && info.Size() > 0, stderr
			}
			if got, stderr := steal(&Sandbox{}, "outside.mp4"); !got && tt.newest {
				t.Errorf("outside, the video could not be stolen: %s", stderr)
			} else if !got {
				t.Logf("this ffmpeg refuses by itself: %s", stderr)
			}
			if got, stderr := steal(confined, "inside.mp4"); got {
				t.Errorf("inside, the video was stolen: %s", stderr)
			}
		})
	}
}

// TestOrdinaryUsers repeats the essential without any privilege.
func TestOrdinaryUsers(t *testing.T) {
	t.Parallel()
	openSandbox(t)
	if os.Getuid() != 0 {
		t.Skip("the other tests run without privileges already")
	}
	find(t, "ffmpeg")
	const nobody = 65534
	dir, err := os.MkdirTemp("", "sandbox-nobody-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	source := filepath.Join(dir, "source")
	makeVideo(t, source, "320x180")
	for _, path := range []string{dir, source} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	takeover(t, dir, "attack")
	cmd := inRole(t.Context(), "ordinary user")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func useAsOrdinaryUser() error {
	runtime.LockOSThread()
	ctx := context.Background()
	s, err := Open(On, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if err := os.Mkdir("out", 0o700); err != nil {
		return err
	}
	cmd := s.Command(ctx, Policy{Read: []string{"source"}, WriteDir: "out", Memory: 1 << 30}, "ffmpeg",
		"-v", "error", "-nostdin", "-i", "file:source", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "file:out/video.mp4")
	cmd.Cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		return err
	}
	if err := s.Check(ctx, ffmpeg); err != nil {
		return err
	}
	scene, err := newScene(".")
	if err != nil {
		return err
	}
	defer scene.close()
	results, err := attackFromInside(ctx, s, "./takeover-attack", scene.target)
	if err != nil {
		return err
	}
	if found := faults(results); len(found) > 0 {
		return fmt.Errorf("a program inside %s", strings.Join(found, ", "))
	}
	return nil
}

func TestAKernelWithoutLandlock(t *testing.T) {
	t.Parallel()
	out, err := inRole(t.Context(), "old kernel").CombinedOutput()
	if err == nil {
		t.Fatal("opened a sandbox without Landlock")
	}
	for _, want := range []string{"no Landlock", "newer kernel", "--sandbox=off"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the error is %q; want it to say %q", out, want)
		}
	}
}

// openWithoutLandlock behaves as a kernel that does not know Landlock's calls.
func openWithoutLandlock() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	action := unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	if err := filterCall(unix.SYS_LANDLOCK_CREATE_RULESET, action, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return err
	}
	return openSomehow()
}
