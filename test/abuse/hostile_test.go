package abuse

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hostilePrefix begins the names under which this test binary is a hostile ffmpeg.
const hostilePrefix = "hostile-ffmpeg-"

// The machine that runs the attacks must survive where a limit is missing.
const (
	mostShared  = 2 << 30
	mostScratch = 2 << 30
	mostThreads = 5000
)

var hostileKinds = []struct {
	name, what string
	run        func(outputs []string)
}{
	{"threads", "threads", startThreads},
	{"shared", "shared memory", shareMemory},
	{"stdout", "endless output", printForEver},
	{"stderr", "endless errors", complainForEver},
	{"jpeg", "a giant JPEG", drawGiant},
	{"scratch", "scratch files", fillFolder},
	// One that pretends to make progress is killed, too, but only after 15 minutes and more.
	{"forever", "no end", func([]string) { time.Sleep(time.Hour) }},
}

// beHostile is the main function of a hostile ffmpeg. At the start of a server it
// says what is expected of ffmpeg.
func beHostile(kind string) int {
	if slices.Contains(os.Args, "-encoders") {
		fmt.Println(" V..... libx264 H.264\n A..... aac AAC\n V..... mjpeg MJPEG ")
		fmt.Fprintln(os.Stderr, "ffmpeg version 5.1 Copyright")
		return 0
	}
	if slices.Contains(os.Args, "framecrc") {
		passTrial()
		return 0
	}
	for _, k := range hostileKinds {
		if k.name == kind {
			k.run(argumentPaths(os.Args[1:]))
		}
	}
	return 0
}

// passTrial says that it has encoded a second of video, with keyframes where they were wanted.
func passTrial() {
	const rate = 25
	at, _ := strconv.ParseFloat(os.Args[slices.Index(os.Args, "-force_key_frames")+1], 64)
	for n := range rate {
		flags := ", F=0x0"
		if n == 0 || n == int(math.Round(at*rate)) {
			flags = ""
		}
		fmt.Printf("0, %d, %d, 1, 100, 0x1234abcd%s\n", n, n, flags)
	}
}

func startThreads([]string) {
	for range mostThreads {
		go func() {
			runtime.LockOSThread()
			select {}
		}()
	}
	sayProgress()
}

// shareMemory takes memory that is no data of the process.
func shareMemory([]string) {
	const size = 64 << 20
	for range mostShared / size {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			break
		}
		if err := unix.Ftruncate(fd, size); err != nil {
			break
		}
		b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			break
		}
		for i := 0; i < size; i += 4096 {
			b[i] = 1
		}
	}
	for range mostShared / size { // the same without a file
		b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
		if err != nil {
			break
		}
		for i := 0; i < size; i += 4096 {
			b[i] = 1
		}
	}
}

// printForEver prints a line that never ends.
func printForEver([]string) {
	block := bytes.Repeat([]byte("x"), 1<<20)
	for {
		if _, err := os.Stdout.Write(block); err != nil {
			return
		}
	}
}

func complainForEver([]string) {
	block := bytes.Repeat([]byte("x"), 1<<20)
	for {
		if _, err := os.Stderr.Write(block); err != nil {
			return
		}
	}
}

// drawGiant writes pictures that say to be 65,500 pixels wide and high.
func drawGiant(outputs []string) {
	head := []byte{0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0xff, 0xdc, 0xff, 0xdc, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1}
	for _, path := range outputs {
		for n := range 3 { // some names have a number in them
			name := strings.ReplaceAll(strings.ReplaceAll(path, "%d", fmt.Sprint(n)), "%03d", fmt.Sprintf("%03d", n))
			f, err := os.Create(name)
			if err != nil {
				continue
			}
			_, _ = f.Write(head)
			block := make([]byte, 1<<20)
			for range 400 {
				if _, err := f.Write(block); err != nil {
					break
				}
			}
			f.Close()
		}
	}
}

// fillFolder writes files beside what it should write.
func fillFolder(outputs []string) {
	if len(outputs) == 0 {
		return
	}
	dir, block := filepath.Dir(outputs[0]), make([]byte, 1<<20)
	for n := range mostScratch >> 26 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("scratch-%d", n)))
		if err != nil {
			break
		}
		for range 64 {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
		f.Close()
	}
	time.Sleep(time.Hour)
}
