package packaging

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const monitoringFolder = "../../packaging/monitoring/"

// metricNames are the metrics that docs/monitoring.md lists. An end-to-end test compares that list with
// what a server shows that has processed a video, so what is in it is there.
func metricNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(spool_[a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Fatalf("docs/monitoring.md lists only %d metrics", len(names))
	}
	return names
}

// fromOthers are metrics that are not ours: of Prometheus itself, and of every Go program.
var fromOthers = []string{"up", "process_resident_memory_bytes", "process_cpu_seconds_total"}

// checkQuery wants a query that Prometheus understands, about metrics that exist. It returns their names.
func checkQuery(names []string, query string) (used []string, err error) {
	// Grafana's own variables.
	expr, err := parser.ParseExpr(strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(query))
	if err != nil {
		return nil, err
	}
	var faults []error
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name := v.Name
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if whole, cut := strings.CutSuffix(name, part); cut && slices.Contains(names, whole) {
				name = whole
			}
		}
		used = append(used, name)
		if !slices.Contains(names, name) && !slices.Contains(fromOthers, name) {
			faults = append(faults, errors.New("there is no metric "+v.Name))
		}
		return nil
	})
	return used, errors.Join(faults...)
}

func TestAlertRules(t *testing.T) {
	t.Parallel()
	// What promtool check rules does, and a little more.
	groups, faults := rulefmt.ParseFile(monitoringFolder+"alerts.yaml", false)
	for _, err := range faults {
		t.Error(err)
	}
	if groups == nil || len(groups.Groups) != 1 {
		t.Fatal("there is not one group of rules")
	}
	names := metricNames(t)
	var alerts []string
	for _, r := range groups.Groups[0].Rules {
		alerts = append(alerts, r.Alert)
		if _, err := checkQuery(names, r.Expr); err != nil {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s does not say what happened, what to do, and how bad it is", r.Alert)
		}
	}
	for _, want := range []string{"SpoolQueueStuck", "SpoolNoWorkers", "SpoolVideosFail", "SpoolDiskFull", "SpoolWebhooksFail", "SpoolErrors", "SpoolSlowFirstByte"} {
		if !slices.Contains(alerts, want) {
			t.Errorf("there is no alert %s", want)
		}
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(monitoringFolder + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	names, seen, ids := metricNames(t), map[string]bool{}, map[int]bool{}
	for _, p := range board.Panels {
		if p.Title == "" || ids[p.ID] || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d, %q, has no title, no query, another's id or no place", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			used, err := checkQuery(names, target.Expr)
			if err != nil {
				t.Errorf("%s: %s: %v", p.Title, target.Expr, err)
			}
			for _, name := range used {
				seen[name] = true
			}
		}
	}
	unseen := slices.DeleteFunc(names, func(name string) bool {
		return seen[name] || strings.HasSuffix(name, "_info") || strings.HasSuffix(name, "_timestamp_seconds")
	})
	if len(unseen) > 0 {
		t.Errorf("the dashboard does not show %v", unseen)
	}
}

// A check that finds nothing wrong in anything would be worth nothing.
func TestTheCheckOfQueriesFindsFaults(t *testing.T) {
	t.Parallel()
	names := []string{"spool_a", "spool_h"}
	for query, fine := range map[string]bool{
		`sum(rate(spool_a[$__rate_interval]))`: true,
		`rate(spool_h_bucket[5m])`:             true,
		`spool_a_count`:                        true, // any metric may have a histogram's suffix here
		`spool_b`:                              false,
		`spool_a + on() spool_b_total`:         false,
		`sum(rate(spool_a))`:                   false,
		`max(spool_a`:                          false,
	} {
		if _, err := checkQuery(names, query); (err == nil) != fine {
			t.Errorf("%s: %v", query, err)
		}
	}
}
