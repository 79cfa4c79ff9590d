package pace

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// On one processor, what has arrived runs although somebody else computes.
func TestLetInRunsWhatHasArrived(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	var answered atomic.Int64
	waiting := make(chan struct{})
	go func() {
		request := make([]byte, 1)
		close(waiting)
		for {
			if _, err := out.Read(request); err != nil {
				return
			}
			answered.Add(1)
		}
	}()
	<-waiting
	letIn() // now the other one reads
	raw, late := int(in.Fd()), 0
	for n := range int64(200) {
		if _, err := syscall.Write(raw, []byte{0}); err != nil {
			t.Fatal(err)
		}
		letIn()
		// Now and then Go turns the order of those that can run round, or the system takes the thread away
		// that answers.
		if answered.Load() == n {
			late++
		}
		for began := time.Now(); answered.Load() == n; letIn() {
			if time.Since(began) > time.Minute {
				t.Fatalf("request %d is never answered", n)
			}
		}
	}
	if late > 20 {
		t.Errorf("%d of 200 requests were answered later than after one pause", late)
	}
}

func BenchmarkLetIn(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			letIn()
		}
	})
}
