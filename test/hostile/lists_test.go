package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/engine/sandbox"
)

// lists returns all that tries to reach the bait.
func lists(b Bait) []Sample { return slices.Concat(Lists(b), Dressed(b)) }

// TestListsReachNothing has every list and every reference examined as a worker
// would. None may reach the canary, whatever else becomes of it.
func TestListsReachNothing(t *testing.T) {
	needTools(t)
	t.Parallel()
	e := startExaminer(t, sandbox.On)
	for _, s := range lists(Bait{}) {
		t.Run(s.Name, func(t *testing.T) { checkReachesNothing(t, e, s) })
	}
}

// TestListsReachNothingWithoutTheSandbox is about the options that we give to
// ffmpeg: the sandbox would hide that they are gone.
func TestListsReachNothingWithoutTheSandbox(t *testing.T) {
	needTools(t)
	t.Parallel()
	e := startExaminer(t, sandbox.Off)
	for _, s := range lists(Bait{}) {
		t.Run(s.Name, func(t *testing.T) { checkReachesNothing(t, e, s) })
	}
}

func checkReachesNothing(t *testing.T, e *examiner, s Sample) {
	t.Helper()
	o, c := newTrap(t, s.Name)
	v := e.mustExamine(t, o)
	if how := c.touched(); how != "" {
		t.Errorf("the canary was reached: %s", how)
	}
	if !slices.Contains(s.Ends, v.End) {
		t.Errorf("ends with %s (%s) at %s; want one of %q", v.End, v.Err, v.Step, s.Ends)
	}
	if err := checkOutputs(v); err != nil {
		t.Error(err)
	}
}

// newTrap makes a job with the list of this name and the canary that it aims at.
func newTrap(t *testing.T, name string) (order, *canary) {
	t.Helper()
	o, err := newJob(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newCanary(t)
	if err := c.sitBeside(o); err != nil {
		t.Fatal(err)
	}
	all := lists(c.Bait)
	s := all[slices.IndexFunc(all, func(s Sample) bool { return s.Name == name })]
	if err := os.WriteFile(o.Source, s.Make(), 0o600); err != nil {
		t.Fatal(err)
	}
	return o, c
}

// TestListsWorkElsewhere gives the same files to an ffmpeg without a sandbox and
// without our options: an attack that is wrong in itself would prove nothing.
func TestListsWorkElsewhere(t *testing.T) {
	needTools(t)
	t.Parallel()
	web := []string{"-protocol_whitelist", "file,http,tcp,crypto,data"}
	tests := []struct {
		name     string // of the sample
		as       string // the name of the file; newer versions of ffmpeg go by it
		options  []string
		anywhere bool // works with every version; otherwise with 5.1
		films    bool // the video of the canary is stolen, not only touched
	}{
		{"HLS with the path of another film", "a.m3u8", nil, false, true},
		{"HLS with a web address", "a.m3u8", web, false, false},
		{"DASH with the path of another film", "a.mpd", nil, true, true},
		{"DASH with a web address", "a.mpd", web, false, false},
		{"ffconcat with a film of the same folder", "a.mp4", nil, true, true},
		{"ffconcat with the path of another film", "a.mp4", []string{"-safe", "0", "-f", "concat"}, true, true},
		{"ffconcat with a web address", "a.mp4", append([]string{"-safe", "0", "-f", "concat"}, web...), true, false},
		{"DASH behind a comment that reads as a transport stream", "a.mp4", nil, true, true},
		{"DASH with a web address behind such a transport stream", "a.mp4", web, true, false},
		{"MOV whose pictures are in a file beside it, by alias", "a.mp4", []string{"-enable_drefs", "1"}, true, false},
		{"MOV whose pictures are in another file, by alias", "a.mp4", []string{"-enable_drefs", "1", "-use_absolute_path", "1"}, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, c := newTrap(t, tt.name)
			source := filepath.Join(filepath.Dir(o.Source), tt.as)
			if err := os.Rename(o.Source, source); err != nil {
				t.Fatal(err)
			}
			stolen := filepath.Join(o.Out, "stolen.mkv")
			_, err := tool("ffmpeg", slices.Concat([]string{"-v", "error", "-nostdin", "-y"}, tt.options, []string{"-i", source, "-frames:v", "3", stolen})...)
			how := c.touched()
			shown := false
			if tt.films && err == nil {
				var seen string
				seen, err = view(output{file: stolen})
				shown = seen != ""
			}
			if how != "" && (shown || !tt.films) {
				return
			}
			if !tt.anywhere {
				t.Skipf("this ffmpeg refuses by itself: %v", err)
			}
			t.Errorf("the attack does not work even without protection (%q, %v): it proves nothing", how, err)
		})
	}
}

// TestDisguises makes sure that those lists get past the first look that are
// meant to, and no others.
func TestDisguises(t *testing.T) {
	t.Parallel()
	bait := Bait{File: "/other.mp4", Neighbour: "neighbour.mp4", Address: "127.0.0.1:1"}
	for _, s := range Lists(bait) {
		if got := probe.Sniff(s.Make()); got != "" {
			t.Errorf("%s is taken for %s", s.Name, got)
		}
	}
	for _, s := range Dressed(bait) {
		if probe.Sniff(s.Make()) == "" {
			t.Errorf("%s is not dressed well enough to be accepted", s.Name)
		}
	}
}
