//go:build amd64 || arm64

package sandbox

import "testing"

func TestADeviceIsUsedByPermissionOnly(t *testing.T) {
	t.Parallel()
	s := openSandbox(t)
	head := find(t, "head")
	if out, _, err := run(s.Command(t.Context(), Policy{}, head, "-c", "3", "/dev/zero")); err == nil {
		t.Errorf("a program without permission read %q from a device", out)
	}
	may := Policy{Devices: []string{"/dev/no-such-device", "/dev/zero"}}
	if out, stderr, err := run(s.Command(t.Context(), may, head, "-c", "3", "/dev/zero")); err != nil || out != "\x00\x00\x00" {
		t.Errorf("a program with permission read %q: %v: %s", out, err, stderr)
	}
	if out, _, err := run(s.Command(t.Context(), may, head, "-c", "3", "/dev/full")); err == nil {
		t.Errorf("a program with permission for one device read %q from another", out)
	}
}
