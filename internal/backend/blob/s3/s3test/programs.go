package s3test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// chosen is the variable that names another server than the usual one.
const chosen = "SPOOL_TEST_S3"

// program is an S3 server that scripts/install-s3.sh builds.
type program struct {
	name    string
	health  string // the path that answers 200 when the server is ready
	command func(s *Server, path, address string) *exec.Cmd
}

// programs are the servers that tests can run against. The first one is the usual one, and the
// only one whose folder has objects as files.
var programs = []program{
	{"versitygw", "/health", func(s *Server, path, address string) *exec.Cmd {
		cmd := exec.Command(path, "--port", address, "--quiet", "--keep-alive", "--region", Region, "--virtual-domain", Domain, "--health", "/health", "posix", s.Dir)
		cmd.Env = []string{"ROOT_ACCESS_KEY=" + s.AccessKey, "ROOT_SECRET_KEY=" + s.SecretKey}
		return cmd
	}},
	{"minio", "/minio/health/cluster", func(s *Server, path, address string) *exec.Cmd {
		cmd := exec.Command(path, "server", "--quiet", "--address", address, "--console-address", "127.0.0.1:0", s.Dir)
		cmd.Env = []string{
			"HOME=" + s.Dir, "MINIO_ROOT_USER=" + s.AccessKey, "MINIO_ROOT_PASSWORD=" + s.SecretKey,
			"MINIO_SITE_REGION=" + Region, "MINIO_DOMAIN=" + Domain, "MINIO_BROWSER=off", "MINIO_UPDATE=off",
		}
		return cmd
	}},
}

// choose returns the server to run and the path of its program.
func choose() (program, string, error) {
	name := os.Getenv(chosen)
	if name == "" {
		name = programs[0].name
	}
	i := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
	if i < 0 {
		return program{}, "", fmt.Errorf("%s is %q, which is no S3 server that is known here", chosen, name)
	}
	path, err := programs[i].find()
	return programs[i], path, err
}

// find looks for the program beside the sources and in the PATH.
func (p program) find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		path := filepath.Join(dir, ".cache", "bin", p.name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(p.name); err == nil {
		return path, nil
	}
	return "", errors.New(p.name + " is not installed; scripts/install-s3.sh " + p.name + " builds it")
}
