package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// file is a file of an archive.
type file struct {
	name    string
	mode    int64
	content []byte
}

// add appends a file of the repository.
func (r *release) add(files []file, name, path string) ([]file, error) {
	content, err := os.ReadFile(filepath.Join(r.root, path))
	return append(files, file{name, 0o644, content}), err
}

// build makes the binary of a system. Neither the folder nor the machine is in it.
func (r *release) build(t target) (string, error) {
	binary := filepath.Join(r.work, t.os+"-"+t.arch, "spool")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", binary, "./cmd/spool")
	cmd.Dir = r.root
	// Variables of the person who builds must not decide what comes out.
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// completions asks the program of this machine for its completion files.
func (r *release) completions() ([]file, error) {
	binary, err := r.build(target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	var files []file
	for shell, name := range map[string]string{"bash": "completions/spool.bash", "zsh": "completions/_spool", "fish": "completions/spool.fish"} {
		text, err := exec.Command(binary, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("spool completion %s: %w", shell, err)
		}
		files = append(files, file{name, 0o644, text})
	}
	return files, nil
}

// archive writes files below a folder of the archive's name.
func (r *release) archive(name string, files []file) error {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // its header has no time
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range sorted(files) {
		header := &tar.Header{Name: name + "/" + f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: r.time, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".tar.gz"), packed.Bytes(), 0o644)
}
