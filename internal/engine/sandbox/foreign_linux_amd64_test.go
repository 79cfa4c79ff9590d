package sandbox

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spool-video/spool/test/child"
)

// TestCallsOfAnotherArchitectureKill runs a program that makes a 32-bit call
// from 64-bit code. Its numbers mean other calls there, so that a filter that
// looks at numbers only would let socketcall pass.
func TestCallsOfAnotherArchitectureKill(t *testing.T) {
	t.Parallel()
	s, bin := openSandbox(t), filepath.Join(t.TempDir(), "foreign")
	child.WriteProgram(t, bin, foreignProgram(t))
	if _, _, err := run((&Sandbox{}).Command(t.Context(), Policy{}, bin)); err != nil {
		t.Skipf("this kernel has no 32-bit calls: %v", err)
	}
	if _, stderr, err := run(s.Command(t.Context(), Policy{}, bin)); signalOf(err) != syscall.SIGSYS {
		t.Errorf("inside it ended with %v: %s; want SIGSYS", err, stderr)
	}
}

// foreignProgram assembles a static program without libraries.
func foreignProgram(t *testing.T) []byte {
	t.Helper()
	code := []byte{
		0xb8, 0x14, 0x00, 0x00, 0x00, // mov eax, 20 (getpid of i386)
		0xcd, 0x80, //                   int 0x80
		0x31, 0xff, //                   xor edi, edi
		0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit of amd64)
		0x0f, 0x05, //                   syscall
	}
	const headers, base = 64 + 56, 0x400000
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	segment := elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: base, Paddr: base,
		Filesz: uint64(headers + len(code)), Memsz: uint64(headers + len(code)), Align: 0x1000,
	}
	var b bytes.Buffer
	for _, part := range []any{header, segment, code} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
