package scale

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// size is how large a simulation is.
type size struct {
	tick            time.Duration // of the simulated clock: all times are multiples
	machines, slots int           // processes, and tasks at a time on each
	films           int           // that one tenant uploads at once
	length          time.Duration // of those
	tenants         int           // others, who upload clips
	every           time.Duration // between two clips of one of them
	lasts           time.Duration // how long they go on
	death           time.Duration // when one of the machines dies
}

func (s size) workers() int { return s.machines * s.slots }

const (
	clipLength = 10 * time.Second

	// watchable is how many stages make a video that can be played.
	watchable = 3

	// foundAfter is after what time the fleet notices that a machine has died: three
	// beats of 5 s without a sign, and one until somebody looks.
	foundAfter = 20 * time.Second
)

// load is all that is uploaded in a simulation.
type load struct {
	size
	films  []*simVideo // of the large tenant, at the beginning
	clips  []*simVideo // of many small ones
	single *simVideo   // the only clip of its tenant
	videos map[video.ID]*simVideo
}

func newLoad(s size, long, clip course) *load {
	l := &load{size: s, videos: map[video.ID]*simVideo{}}
	add := func(c course, tenant string, at time.Duration) *simVideo {
		id := video.ID(uuid.NewSHA1(uuid.Nil, fmt.Append(nil, len(l.videos))).String())
		l.videos[id] = &simVideo{course: c, id: id, tenant: video.Tenant(tenant), comes: at.Truncate(s.tick)}
		return l.videos[id]
	}
	for range s.films {
		l.films = append(l.films, add(long, "large", 0))
	}
	for at := s.every; at <= s.lasts; at += s.every {
		for i := range s.tenants {
			shift := time.Duration(i) * s.every / time.Duration(s.tenants)
			l.clips = append(l.clips, add(clip, fmt.Sprintf("clips-%d", i), at+shift))
		}
	}
	l.single = add(clip, "single", s.lasts/2)
	return l
}

// arrivals are all videos by when they are uploaded, and those of one moment in
// the same order every time.
func (l *load) arrivals() []*simVideo {
	return slices.SortedFunc(maps.Values(l.videos), func(a, b *simVideo) int {
		return cmp.Or(cmp.Compare(a.comes, b.comes), cmp.Compare(a.id, b.id))
	})
}

// work is the time that all tasks together take.
func (l *load) work() time.Duration {
	var sum time.Duration
	for _, f := range l.videos {
		for stage := range f.stages {
			for _, t := range f.tasksOf(stage) {
				sum += l.takes(t)
			}
		}
	}
	return sum
}

// tasks is how many there will have been in the end.
func (l *load) tasks() int {
	n := 0
	for _, f := range l.videos {
		n += f.tasks()
	}
	return n
}

// takes is how long a task keeps a worker: up to a fifth more or less than
// usual, and the same whenever it is asked.
func (l *load) takes(t queue.Task) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, t)
	usual := usually(t.Kind, l.videos[t.Video].length)
	return max(l.tick, (usual*8/10 + usual*4/10*time.Duration(h.Sum64()%1000)/1000).Round(l.tick))
}

// usually is the time that a task of a video takes. The figures are round ones,
// of a core that encodes as fast as the video plays.
func usually(k queue.Kind, length time.Duration) time.Duration {
	switch k {
	case queue.Encode:
		return min(length, chunkLength)
	case queue.Audio:
		return time.Second + length/100
	case queue.Assemble:
		return time.Second + length/1000
	case queue.Thumbnails, queue.Measure:
		return 2 * time.Second
	}
	return time.Second
}

// unhindered is how long a video takes when no task of it ever waits.
func (l *load) unhindered(f *simVideo) time.Duration {
	var sum time.Duration
	for stage := range f.stages[:watchable] {
		var longest time.Duration
		for _, t := range f.tasksOf(stage) {
			longest = max(longest, l.takes(t))
		}
		sum += longest
	}
	return sum
}

// firstCome runs the load on as many workers behind a plain queue, where what
// comes first is served first. Nothing of ours takes part: this is what the
// order of the real queues is compared with.
func (l *load) firstCome() (end time.Duration) {
	type run struct {
		task  queue.Task
		until time.Duration
	}
	var waiting []queue.Task
	var running []run
	arrivals := l.arrivals()
	for now := time.Duration(0); len(arrivals)+len(waiting)+len(running) > 0; now += l.tick {
		end = now
		for len(arrivals) > 0 && arrivals[0].comes <= now {
			waiting = append(waiting, arrivals[0].enter(0)...)
			arrivals = arrivals[1:]
		}
		running = slices.DeleteFunc(running, func(r run) bool {
			if r.until <= now {
				waiting = append(waiting, l.videos[r.task.Video].ended(r.task, now)...)
			}
			return r.until <= now
		})
		for len(waiting) > 0 && len(running) < l.workers() {
			running = append(running, run{waiting[0], now + l.takes(waiting[0])})
			waiting = waiting[1:]
		}
	}
	return end
}

// simVideo is a video in the simulation.
type simVideo struct {
	course
	id     video.ID
	tenant video.Tenant
	stage  int
	open   int           // tasks of this stage that have not ended
	comes  time.Duration // when it is uploaded
	stills time.Duration // when its thumbnails could be seen
	ready  time.Duration // when it could be played
}

// enter begins a stage and returns its tasks.
func (f *simVideo) enter(stage int) []queue.Task {
	f.stage = stage
	if stage == len(f.stages) {
		return nil
	}
	tasks := f.tasksOf(stage)
	f.open = len(tasks)
	return tasks
}

// tasksOf returns the tasks of a stage.
func (f *simVideo) tasksOf(stage int) []queue.Task {
	tasks := slices.Clone(f.stages[stage])
	for i := range tasks {
		tasks[i].Video = f.id
		if tasks[i].Tenant != "" { // clearing up is nobody's
			tasks[i].Tenant = f.tenant
		}
	}
	return tasks
}

// ended notes the end of a task and returns those that follow from it.
func (f *simVideo) ended(t queue.Task, now time.Duration) []queue.Task {
	switch t.Kind {
	case queue.Thumbnails:
		f.stills = now
	case queue.Assemble:
		f.ready = now
	}
	if f.open--; f.open > 0 {
		return nil
	}
	return f.enter(f.stage + 1)
}
