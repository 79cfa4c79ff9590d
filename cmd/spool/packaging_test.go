package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const packaging = "../../packaging"

// A default that works is a password that everybody knows.
func TestComposeHasNoDefaultSecrets(t *testing.T) {
	t.Parallel()
	text := readPackaging(t, "docker/compose.yaml")
	secret := regexp.MustCompile(`\$\{(\w*(?:PASSWORD|KEY|SECRET)\w*)([^}]*)\}`)
	found := secret.FindAllStringSubmatch(text, -1)
	if len(found) < 6 {
		t.Errorf("only %d secrets found", len(found))
	}
	for _, m := range found {
		if !strings.HasPrefix(m[2], ":?") {
			t.Errorf("%s has a default: %s", m[1], m[0])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s*ports: \["(.*)"\]`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "${BIND_ADDRESS:-127.0.0.1}:") {
			t.Errorf("port %s is open to other machines", m[1])
		}
	}
}

// A file that was applied without being edited must not start with a key that everybody knows.
func TestPackagedAPIKeysAreRefused(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`SPOOL_API_KEY: "?([^"\n]*)`)
	for _, file := range []string{"docker/compose.yaml", "kubernetes/config.yaml"} {
		for _, m := range key.FindAllStringSubmatch(readPackaging(t, file), -1) {
			if strings.HasPrefix(m[1], "${SPOOL_API_KEY:?") {
				continue
			}
			if _, err := (sources{env: map[string]string{"SPOOL_API_KEY": m[1]}}).parse(t); err == nil {
				t.Errorf("%s: the key %q is accepted", file, m[1])
			}
		}
	}
}

func readPackaging(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(packaging, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A shell takes a function for the program of its name, so the script would install nothing.
func TestNoFunctionOfTheInstallScriptIsTakenForAProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../scripts/install-deps.sh")
	if err != nil {
		t.Fatal(err)
	}
	functions := regexp.MustCompile(`(?m)^(\w+)\(\)`).FindAllStringSubmatch(string(text), -1)
	programs := regexp.MustCompile(`missing (\w[\w-]*) `).FindAllStringSubmatch(string(text), -1)
	if len(functions) < 3 || len(programs) < 10 {
		t.Fatalf("only %d functions and %d programs found", len(functions), len(programs))
	}
	for _, f := range functions {
		for _, p := range programs {
			if f[1] == p[1] {
				t.Errorf("the function %s has the name of a program", f[1])
			}
		}
	}
}
