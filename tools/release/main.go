// Command release makes what a version of Spool is published as: static binaries in
// archives, a Debian package, a bill of materials and checksums. The same source gives
// the same bytes, in any folder and at any time.
//
// It is a module of its own, because what makes packages is no part of Spool.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is a version that is being made.
type release struct {
	root    string // of the repository
	out     string // where everything goes
	version string
	time    time.Time // of every file in it
	work    string    // what is not published
}

// target is a system that there are binaries for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	var r release
	var epoch int64
	var targets string
	flag.StringVar(&r.root, "root", ".", "the repository")
	flag.StringVar(&r.out, "out", "bin/release", "where everything goes")
	flag.StringVar(&r.version, "version", "", "the version")
	flag.Int64Var(&epoch, "epoch", 0, "the time of all files, in seconds since 1970")
	flag.StringVar(&targets, "targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "which binaries")
	flag.Parse()
	r.time = time.Unix(epoch, 0).UTC()
	if r.version == "" || epoch == 0 {
		log.Fatal("-version and -epoch are needed")
	}
	if err := r.make(strings.Split(targets, ",")); err != nil {
		log.Fatal(err)
	}
}

// make makes everything, in a folder that is made anew.
func (r *release) make(targets []string) (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "spool-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	completions, err := r.completions()
	if err != nil {
		return err
	}
	for _, name := range targets {
		system, arch, _ := strings.Cut(name, "/")
		if err := r.makeTarget(target{system, arch}, completions); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return r.checksums()
}

// makeTarget makes what is published for one system.
func (r *release) makeTarget(t target, completions []file) error {
	binary, err := r.build(t)
	if err != nil {
		return err
	}
	parts, err := r.parts(binary)
	if err != nil {
		return err
	}
	licences, err := r.licences(parts)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("spool_%s_%s_%s", strings.TrimPrefix(r.version, "v"), t.os, t.arch)
	if err := r.bill(name+".cdx.json", t, parts); err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	files := append([]file{{"spool", 0o755, program}, {"THIRD_PARTY_LICENSES.txt", 0o644, licences}}, completions...)
	for _, path := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "spool.example.toml"} {
		if files, err = r.add(files, path, path); err != nil {
			return err
		}
	}
	if t.os == "linux" {
		for _, unit := range []string{"spool.service", "spool@.service"} {
			if files, err = r.add(files, "systemd/"+unit, "packaging/systemd/"+unit); err != nil {
				return err
			}
		}
		if err := r.debian(t, files); err != nil {
			return fmt.Errorf("the package: %w", err)
		}
	}
	return r.archive(name, files)
}

// checksums writes SHA256SUMS of all files, as sha256sum does.
func (r *release) checksums() error {
	all, err := filepath.Glob(filepath.Join(r.out, "*"))
	if err != nil {
		return err
	}
	slices.Sort(all)
	var text strings.Builder
	for _, path := range all {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), filepath.Base(path))
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(text.String()), 0o644)
}
