// Package unsteady has tests that fail, for the tests of the program that runs tests.
package unsteady

import (
	"os"
	"testing"
)

// TestSecondTry passes when a file exists, which it makes.
func TestSecondTry(t *testing.T) {
	if _, err := os.Stat(os.Getenv("UNSTEADY_FILE")); err == nil {
		return
	}
	t.Run("part", func(t *testing.T) { t.Error("the file is missing") })
	if err := os.WriteFile(os.Getenv("UNSTEADY_FILE"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNever(t *testing.T) { t.Error("it never passes") }

func TestPanic(t *testing.T) { panic("at once") }
