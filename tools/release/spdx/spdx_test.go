package spdx

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// TestEveryModuleHasAKnownLicence reads the licences of what is in the program. That nobody knows one is found when a
// dependency arrives, and not when a release is made.
func TestEveryModuleHasAKnownLicence(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/spool")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if dir == "" || got[path] != "" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if got[path], err = OfFiles(files); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(got) < 50 {
		t.Errorf("only %d modules were found", len(got))
	}
	for path, want := range map[string]string{
		"github.com/riverqueue/river": "MPL-2.0", "github.com/BurntSushi/toml": "MIT", "github.com/aws/smithy-go": "Apache-2.0",
		"modernc.org/sqlite": "BSD-3-Clause", "go.opentelemetry.io/otel": "Apache-2.0 AND BSD-3-Clause",
		"kernel.org/pub/linux/libs/security/libcap/psx": "BSD-3-Clause OR GPL-2.0-only",
	} {
		if got[path] != want {
			t.Errorf("the licence of %s is %q; want %q", path, got[path], want)
		}
	}
	for file, want := range map[string]string{
		"LICENSE": "Apache-2.0", "internal/web/player/thirdparty/media-chrome.LICENSE": "MIT",
		"internal/web/player/thirdparty/hls.LICENSE": "Apache-2.0", "internal/web/api/docs/LICENSE": "Apache-2.0",
	} {
		if id, err := OfFiles([]string{filepath.Join(root, file)}); err != nil || id != want {
			t.Errorf("the licence in %s is %q, %v; want %q", file, id, err, want)
		}
	}
}

func TestUnknownLicences(t *testing.T) {
	for _, text := range []string{
		"", "GNU GENERAL PUBLIC LICENSE\nVersion 3", "You may use this, but not for evil.",
		"Permission is hereby granted, free of charge, to look at this.",
	} {
		if id, err := Expression(text); err == nil {
			t.Errorf("%q is taken for %s", text, id)
		}
	}
	if _, err := OfFiles([]string{"NOTICE", "LICENSE-3RD-PARTY.md"}); err == nil {
		t.Error("the licences of others are taken for that of the project")
	}
	two := "Redistribution and use in source and binary forms, with or without\n modification, are permitted provided that"
	if id, err := Expression(two); err != nil || id != "BSD-2-Clause" {
		t.Errorf("it is %q, %v; want BSD-2-Clause", id, err)
	}
}
