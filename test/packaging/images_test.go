package packaging

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Images of the test. Nothing is fetched from a registry: the base is made of Debian's packages.
const (
	baseImage     = "localhost/spool-test/base"
	goImage       = "localhost/spool-test/go"
	spoolImage    = "localhost/spool-test/spool"
	postgresImage = "localhost/spool-test/postgres"
	s3Image       = "localhost/spool-test/s3"
)

// standIns are the images that stand for those of the compose file.
var standIns = map[string]string{"spool": spoolImage, "postgres:17": postgresImage, "versity/versitygw:v1.8.0": s3Image}

// run runs a program and returns what it printed. It ends the test if the program fails.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := tryRun(t.Context(), name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func tryRun(ctx context.Context, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// buildImages makes what the services run on. What does not change is kept from earlier runs.
func buildImages(t *testing.T, repository string) {
	t.Helper()
	if !exists(t, baseImage) {
		archive := filepath.Join(t.TempDir(), "base.tar")
		run(t, "mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", archive)
		run(t, "podman", "import", "--quiet", archive, baseImage)
	}
	if !exists(t, postgresImage) {
		build(t, postgresImage, "testdata/postgres.Containerfile", "testdata")
	}
	gateway := filepath.Join(repository, ".cache", "bin", "versitygw")
	if _, err := os.Stat(gateway); err != nil {
		gateway = run(t, "which", "versitygw")
	}
	build(t, s3Image, "testdata/s3.Containerfile", filepath.Dir(gateway))
	build(t, goImage, "testdata/go.Containerfile", filepath.Dir(run(t, "go", "env", "GOROOT")), "--volume", "/etc/ssl/certs:/certificates:ro")
	// With the caches of this machine, compiling takes seconds.
	build(t, spoolImage, filepath.Join(repository, "packaging", "docker", "Dockerfile"), repository,
		"--build-arg", "BUILD_IMAGE="+goImage, "--build-arg", "BASE_IMAGE="+baseImage, "--build-arg", "VERSION=container-test",
		"--volume", run(t, "go", "env", "GOMODCACHE")+":/root/go/pkg/mod", "--volume", run(t, "go", "env", "GOCACHE")+":/root/.cache/go-build")
}

func exists(t *testing.T, image string) bool {
	t.Helper()
	_, err := tryRun(t.Context(), "podman", "image", "exists", image)
	return err == nil
}

// build makes an image. A chroot is enough to build in, and works inside other containers, too.
func build(t *testing.T, image, file, folder string, args ...string) {
	t.Helper()
	all := append([]string{"bud", "--quiet", "--layers", "--isolation", "chroot", "--pull-never", "--tag", image, "--file", file}, args...)
	run(t, "buildah", append(all, folder)...)
}
