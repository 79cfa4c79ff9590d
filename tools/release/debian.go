package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format
)

// debian makes a Debian package of the files of an archive.
func (r *release) debian(t target, files []file) error {
	dir := filepath.Join(r.work, "deb-"+t.arch)
	for _, name := range []string{"spool.env", "postinst", "prerm", "postrm"} {
		var err error
		if files, err = r.add(files, "deb/"+name, "packaging/deb/"+name); err != nil {
			return err
		}
	}
	for _, f := range files {
		if strings.HasPrefix(f.name, "systemd/") { // what a package installs is not below /usr/local
			f.content = bytes.ReplaceAll(f.content, []byte("/usr/local/bin/spool"), []byte("/usr/bin/spool"))
		}
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, os.FileMode(f.mode)); err != nil {
			return err
		}
	}
	values := map[string]string{"ARCH": t.arch, "VERSION": debianVersion(r.version), "FILES": dir}
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(r.root, "packaging/deb/nfpm.yaml"), func(name string) string { return values[name] })
	if err != nil {
		return err
	}
	info, err := config.Get("deb")
	if err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(dir, "deb", name) }
	info.Scripts = nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")}
	info = nfpm.WithDefaults(info)
	info.MTime = r.time
	for _, c := range info.Contents { // what is read from the work folder was made just now
		if c.FileInfo != nil {
			c.FileInfo.MTime = r.time
		}
	}
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	var pkg bytes.Buffer
	if err := packager.Package(info, &pkg); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), pkg.Bytes(), 0o644)
}

// debianVersion makes a version that begins with a digit, as Debian wants it.
func debianVersion(v string) string {
	v = strings.TrimPrefix(v, "v")
	if v == "" || v[0] < '0' || v[0] > '9' {
		v = "0~" + v
	}
	return strings.ReplaceAll(v, "-", "+")
}
