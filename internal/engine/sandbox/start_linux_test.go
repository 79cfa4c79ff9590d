//go:build amd64 || arm64

package sandbox

import "testing"

// BenchmarkStart measures what the sandbox adds to the start of a program.
func BenchmarkStart(b *testing.B) {
	program := find(b, "true")
	for _, bench := range []struct {
		name string
		open func() *Sandbox
	}{
		{"bare", func() *Sandbox { return &Sandbox{} }},
		{"confined", func() *Sandbox { return openSandbox(b) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, j := bench.open(), newJob(b)
			makeVideo(b, j.source, "64x64")
			p := j.policy()
			p.Memory, p.FileSize, p.Threads, p.Files, p.Space = 1<<30, 1<<30, 500, 500, 1<<30
			for b.Loop() {
				if _, stderr, err := run(s.Command(b.Context(), p, program)); err != nil {
					b.Fatalf("%v: %s", err, stderr)
				}
			}
		})
	}
}
