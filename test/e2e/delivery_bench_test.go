package e2e

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/child"
)

var (
	loadRounds = flag.Int("rounds", 7, "rounds of each load of BenchmarkDelivery, of which the median counts")
	loadTime   = flag.Duration("loadtime", 400*time.Millisecond, "how long each load of BenchmarkDelivery lasts")
	loadOnly   = flag.String("load", "", "the loads of BenchmarkDelivery to run, as a regular expression")
	loadBefore = flag.String("before", "", "another build of the program, with which BenchmarkDelivery compares, uploads apart")
)

const (
	rangeSize       = 64 << 10
	uploadSize      = 16 << 20
	loadConnections = 16
)

// BenchmarkDelivery compares Spool with nginx and with a Go program that does
// nothing but serve files, over the loopback interface. In each round the three
// take turns, so that what else the machine does concerns all of them. The time of
// a server's CPU for each answer says most: noise hardly changes it.
func BenchmarkDelivery(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run is all of it")
	}
	only := regexp.MustCompile(*loadOnly)
	s := newThreeServers(b)
	var rows []loadRow
	for _, l := range s.loads() {
		if only.MatchString(l.name) {
			rows = append(rows, l.run(b, "lean", askLean), l.run(b, "ordinary", askOrdinary))
			if l.files {
				l.targets = slices.DeleteFunc(l.targets, func(x target) bool { return x.name == "nginx" }) // this one does not speak both versions on one port
				rows = append(rows, l.run(b, "HTTP/2", askHTTP2))
			}
		}
	}
	var text strings.Builder
	writeDelivery(&text, rows)
	b.Log("\n" + text.String())
	if *benchReport == "" {
		return
	}
	f, err := os.OpenFile(*benchReport, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text.String()); err != nil {
		b.Fatal(err)
	}
}

// load is one comparison.
type load struct {
	name        string
	connections int
	targets     []target // Spool first
	files       bool     // which all of the servers have
}

// loadRow is the outcome of a load: the median of each target.
type loadRow struct {
	name   string
	client string
	scores map[string]score
	ratios map[string]float64 // of Spool's rate to that of the other, by round
}

func (l load) run(b *testing.B, client string, ask asker) loadRow {
	all := map[string][]score{}
	for round := range *loadRounds {
		for i := range l.targets {
			x := l.targets[(i+round)%len(l.targets)]
			all[x.name] = append(all[x.name], x.put(b, ask, l.connections, *loadTime))
		}
	}
	row := loadRow{l.name, client, map[string]score{}, map[string]float64{}}
	for name, scores := range all {
		row.scores[name] = score{
			rate:  medianOf(scores, func(s score) float64 { return s.rate }),
			bytes: medianOf(scores, func(s score) float64 { return s.bytes }),
			cpu:   medianOf(scores, func(s score) float64 { return s.cpu }),
		}
		var ratios []float64
		for i, s := range scores {
			ratios = append(ratios, all[l.targets[0].name][i].rate/s.rate)
		}
		row.ratios[name] = medianOf(ratios, func(r float64) float64 { return r })
	}
	return row
}

func medianOf[T any](all []T, value func(T) float64) float64 {
	var values []float64
	for _, x := range all {
		values = append(values, value(x))
	}
	slices.SortFunc(values, cmp.Compare)
	return values[len(values)/2]
}

func writeDelivery(w *strings.Builder, rows []loadRow) {
	fmt.Fprintf(w, "\n## Delivery\n\nSpool against nginx and a Go program that does nothing but serve files (`http.ServeContent`), over the loopback interface, on SQLite and a disk. "+
		"The three took turns in %d rounds of %s; medians. CPU is user and system time of the server for each answer: it varies little with what else the machine does, "+
		"whereas rates also depend on the client, which shares its cores. The lean client leaves nearly all of the time to the server; the ordinary one is that of Go's `net/http`, also over HTTP/2 without TLS.\n\n"+
		"| load | client | Spool /s | nginx /s | Go /s | Spool/nginx | Spool/Go | CPU, µs: Spool | nginx | Go | CPU, Go/Spool |\n|---|---|---|---|---|---|---|---|---|---|---|\n", *loadRounds, *loadTime)
	for _, r := range rows {
		rate, cpu := func(s score) float64 { return s.rate }, func(s score) float64 { return s.cpu }
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name, r.client,
			r.cell("Spool", rate), r.cell("nginx", rate), r.cell("Go", rate), r.ratio("nginx"), r.ratio("Go"),
			r.cell("Spool", cpu), r.cell("nginx", cpu), r.cell("Go", cpu), r.work("Go"))
		if _, ok := r.scores[anotherBuild]; ok {
			fmt.Fprintf(w, "| %s, before | %s | %s | – | – | Spool/before: %s | – | %s | – | – | before/Spool: %s |\n", r.name, r.client,
				r.cell(anotherBuild, rate), r.ratio(anotherBuild), r.cell(anotherBuild, cpu), r.work(anotherBuild))
		}
	}
}

// anotherBuild is the name of another build of Spool.
const anotherBuild = "before"

// cell is a figure of a server, if it took part.
func (r loadRow) cell(name string, f func(score) float64) string {
	s, ok := r.scores[name]
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.0f", f(s))
}

// ratio is that of Spool's rate to another's.
func (r loadRow) ratio(name string) string {
	if _, ok := r.scores[name]; !ok {
		return "–"
	}
	return fmt.Sprintf("**%.2f**", r.ratios[name])
}

// work is the ratio of another's CPU time to Spool's.
func (r loadRow) work(name string) string {
	s, ok := r.scores[name]
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.2f", s.cpu/r.scores["Spool"].cpu)
}

// threeServers are servers with the same films.
type threeServers struct {
	b       *testing.B
	spool   *server
	old     *server // another build, or nil
	public  watch
	private watch
	before  map[string]watch // the films of the other build, by the ID of Spool's
	film    string           // what was uploaded
	dir     string           // of the other two
	nginx   *nginx
	plain   string // address
	plainID int
}

func newThreeServers(b *testing.B) *threeServers {
	s := &threeServers{b: b, dir: b.TempDir()}
	s.spool = s.startSpool()
	s.nginx = startNginx(b, "", "root "+s.dir+"; dav_methods PUT; create_full_put_path on;")
	s.startPlain()
	s.film = filepath.Join(b.TempDir(), "film.mp4")
	if err := runFFmpeg(strings.Fields("-f lavfi -i testsrc2=size=640x360:rate=25,noise=alls=60:allf=t -f lavfi -i sine=frequency=440:sample_rate=48000 -t 12 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac " + s.film)...); err != nil {
		b.Fatal(err)
	}
	s.public, s.private = s.submit(s.spool, true), s.submit(s.spool, false)
	if *loadBefore != "" {
		s.old = s.startSpool(func(x *server) { x.binary = *loadBefore })
		s.before = map[string]watch{s.public.ID: s.submit(s.old, true), s.private.ID: s.submit(s.old, false)}
	}
	s.save("film.mp4", s.public.Resolutions["360p"].VideoURL)
	return s
}

// startSpool starts Spool as an operator does. A single key is not to be slowed down.
func (s *threeServers) startSpool(options ...option) *server {
	return start(s.b, append(options, withEnv("SPOOL_LOG_LEVEL", ""), withEnv("SPOOL_RATE_LIMIT", "0"), withEnv("SPOOL_TRUSTED_PROXIES", "127.0.0.0/8"), withEnv("SPOOL_LOG_FORMAT", "json"))...)
}

// submit has a server make the film.
func (s *threeServers) submit(to *server, public bool) watch {
	return to.waitReady(to.submit(newVideo{Filename: "film.mp4", Resolutions: []string{"360p"}, IsPublic: public}, s.film))
}

func (s *threeServers) startPlain() {
	program := filepath.Join(s.b.TempDir(), "plain")
	if out, err := exec.Command("go", "build", "-o", program, "./testdata/plain").CombinedOutput(); err != nil {
		s.b.Fatalf("build the plain server: %v\n%s", err, out)
	}
	cmd := exec.Command(program, s.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.b.Fatal(err)
	}
	exited, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		<-exited
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.b.Fatal(err)
	}
	s.plain, s.plainID = strings.TrimSpace(line), cmd.Process.Pid
}

// save stores what an address answers as a file of the other servers.
func (s *threeServers) save(name, address string) int64 {
	r := s.spool.get(address)
	if r.status != 200 {
		s.b.Fatalf("GET %s answers %d", address, r.status)
	}
	if err := os.WriteFile(filepath.Join(s.dir, name), r.body, 0o600); err != nil {
		s.b.Fatal(err)
	}
	return int64(len(r.body))
}

func (s *threeServers) loads() []load {
	return []load{
		s.ranges("64 KiB ranges, public", s.public),
		s.ranges("64 KiB ranges, signed", s.private),
		s.wholeFiles(),
		s.segments(),
		s.uploads(),
		s.reads(),
	}
}

// three returns the targets for a file of a video of Spool, which the others have under a name.
func (s *threeServers) three(v watch, file, name string, code int, size int64, headers ...[]header) []target {
	all := []target{{name: "Spool", pid: s.spool.cmd.Process.Pid}, {name: "nginx", pid: s.nginx.pid}, {name: "Go", pid: s.plainID}}
	addresses := []string{fileOf(v, file), s.nginx.url + "/" + name, s.plain + "/" + name}
	if s.old != nil {
		all = append(all, target{name: anotherBuild, pid: s.old.cmd.Process.Pid})
		addresses = append(addresses, fileOf(s.before[v.ID], file))
	}
	if len(headers) == 0 {
		headers = [][]header{nil}
	}
	for i, at := range addresses {
		all[i].code, all[i].size = code, size
		if all[i].name == anotherBuild && size != rangeSize { // it may have encoded the film differently
			all[i].size = 0
		}
		for _, h := range headers {
			addr, head := requestTo(s.b, "GET", at, h...)
			all[i].addr, all[i].heads = addr, append(all[i].heads, head)
		}
	}
	return all
}

// fileOf returns the address of a file of a video.
func fileOf(v watch, file string) string {
	return strings.TrimSuffix(v.Resolutions["360p"].VideoURL, "360p.mp4") + file
}

func (s *threeServers) ranges(name string, v watch) load {
	size := s.save("film.mp4", v.Resolutions["360p"].VideoURL)
	var headers [][]header
	for at := int64(0); at+rangeSize <= size; at += rangeSize {
		headers = append(headers, []header{{"Range", fmt.Sprintf("bytes=%d-%d", at, at+rangeSize-1)}})
	}
	return load{name, loadConnections, s.three(v, "360p.mp4", "film.mp4", 206, rangeSize, headers...), true}
}

func (s *threeServers) wholeFiles() load {
	size := s.save("film.mp4", s.public.Resolutions["360p"].VideoURL)
	return load{fmt.Sprintf("whole files of %d MiB", size>>20), loadConnections, s.three(s.public, "360p.mp4", "film.mp4", 200, size), true}
}

var mediaLine = regexp.MustCompile(`(?m)^[^#\s]\S*$`)

// segments asks for the segments of the video, of which the other servers have files.
func (s *threeServers) segments() load {
	list := s.spool.get(fileOf(s.public, "360p.m3u8"))
	var all []target
	total := int64(0)
	names := mediaLine.FindAllString(string(list.body), -1)
	for _, name := range names {
		total += s.save(name, fileOf(s.public, name))
		targets := s.three(s.public, name, name, 200, 0)
		for i := range all {
			targets[i].heads = append(all[i].heads, targets[i].heads...)
		}
		all = targets
	}
	if len(names) == 0 {
		s.b.Fatalf("no segment in %s", list.body)
	}
	return load{fmt.Sprintf("HLS segments of %d KiB", total/int64(len(names))>>10), loadConnections, all, true}
}

// uploads sends a file again and again, each connection under its own name. nginx and
// the Go program do not wait until the file is safe on the disk, as Spool does.
func (s *threeServers) uploads() load {
	const connections = 4
	body := make([]byte, uploadSize)
	all := []target{{name: "Spool", pid: s.spool.cmd.Process.Pid, code: 200}, {name: "nginx", pid: s.nginx.pid, code: 204}, {name: "Go", pid: s.plainID, code: 201}}
	for i := range connections {
		u := s.spool.create(newVideo{Filename: "film.mp4", Resolutions: []string{"360p"}})
		name := fmt.Sprintf("/put-%d", i)
		if err := os.WriteFile(filepath.Join(s.dir, name), nil, 0o600); err != nil { // so that nginx always replaces
			s.b.Fatal(err)
		}
		for i, at := range []string{u.UploadURL, s.nginx.url + name, s.plain + name} {
			addr, head := requestTo(s.b, "PUT", at, header{"Content-Type", u.ContentType}, header{"Content-Length", fmt.Sprint(uploadSize)})
			all[i].addr, all[i].heads, all[i].body = addr, append(all[i].heads, head), body
		}
	}
	return load{fmt.Sprintf("PUT of %d MiB", uploadSize>>20), connections, all, false}
}

// reads asks for the description of a video.
func (s *threeServers) reads() load {
	l := load{"GET /api/video/{id}/public", loadConnections, []target{readOf(s.spool, "Spool", s.public)}, false}
	if s.old != nil {
		l.targets = append(l.targets, readOf(s.old, anotherBuild, s.before[s.public.ID]))
	}
	return l
}

func readOf(s *server, name string, v watch) target {
	addr, head := requestTo(s.t, "GET", s.url+"/api/video/"+v.ID+"/public", header{"X-API-KEY", s.key})
	return target{name: name, pid: s.cmd.Process.Pid, addr: addr, heads: []string{head}, code: 200}
}
