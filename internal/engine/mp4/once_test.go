package mp4

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Many tests want the same few files, and starting ffmpeg takes longer than all that they do with them. So each
// file is made once, and every test gets a copy.
var once struct {
	sync.Mutex
	made  map[string]*madeOnce
	names map[string]string // what copies are copies of, by their paths
}

type madeOnce struct {
	sync.Once
	content string
	made    bool
}

// sameAs returns the key of arguments, which is the same for copies of the same file.
func sameAs(args []string) (key string) {
	once.Lock()
	defer once.Unlock()
	for _, arg := range args {
		if name := once.names[arg]; name != "" {
			arg = "(" + name + ")"
		}
		key += arg + "\n"
	}
	return key
}

// onlyOnce returns what make has returned for this key.
func onlyOnce(t testing.TB, key string, produce func() string) string {
	t.Helper()
	once.Lock()
	if once.made == nil {
		once.made, once.names = map[string]*madeOnce{}, map[string]string{}
	}
	m := once.made[key]
	if m == nil {
		m = new(madeOnce)
		once.made[key] = m
	}
	once.Unlock()
	m.Do(func() { m.content, m.made = produce(), true })
	if !m.made {
		t.Fatal("the first test that needed this says why it was not made")
	}
	return m.content
}

// makeFile returns a copy of the file that ffmpeg makes of these arguments, under a name.
func makeFile(t testing.TB, name string, args ...string) string {
	t.Helper()
	key := sameAs(args)
	content := onlyOnce(t, key, func() string {
		path := filepath.Join(t.TempDir(), name)
		ffmpeg(t, append(args, path)...)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	})
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	once.Lock()
	defer once.Unlock()
	once.names[path] = key
	return path
}
