package packaging

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const chart = "../../packaging/helm"

// values are what somebody who installs the chart writes.
const values = `
baseURL: https://video.example.com
storageURL: s3://films/spool?region=eu-central-1
settings: {max_file_size: 20GiB, max_videos: 50000000}
api: {databaseURL: "postgres://spool@db/spool", apiKey: key, accessKeyID: a, secretAccessKey: b}
worker: {databaseURL: "postgres://spool_worker@db/spool", accessKeyID: a, secretAccessKey: b}
networkPolicy: {database: {cidr: 192.0.2.0/24}}
ingress: {enabled: true, host: video.example.com, tlsSecret: certificate, className: nginx}
`

// helm runs the real program with the chart, these values, and more arguments.
func helm(t *testing.T, values string, args ...string) (stdout []byte, stderr string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", append([]string{"tool", "helm", "template", "spool", chart, "--values", file}, args...)...)
	var said bytes.Buffer
	run.Stderr = &said
	stdout, err = run.Output()
	return stdout, said.String(), err
}

// render decodes what the chart makes. A field that the API does not have is an error.
func render(t *testing.T, args ...string) manifests {
	t.Helper()
	text, said, err := helm(t, values, args...)
	if err != nil {
		t.Fatalf("helm template: %v: %s", err, said)
	}
	m := newManifests()
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		if len(bytes.TrimSpace(document)) > 0 {
			m.add(t, "the chart", document)
		}
	}
	return m
}

func TestTheChartHasWhatTheFolderHas(t *testing.T) {
	t.Parallel()
	folder, rendered := load(t), render(t)
	if len(rendered.deployments) != len(folder.deployments) || len(rendered.services) != 1 || len(rendered.budgets) != 1 || len(rendered.ingresses) != 1 ||
		len(rendered.policies) != len(folder.policies) {
		t.Errorf("it makes %+v", rendered)
	}
	for name, d := range folder.deployments {
		want, _ := yaml.Marshal(d.Spec.Template.Spec)
		ours := rendered.deployments[name].Spec.Template.Spec
		ours.Containers[0].Image, ours.Containers[0].ImagePullPolicy = "spool", ""
		if got, _ := yaml.Marshal(ours); !bytes.Equal(got, want) {
			t.Errorf("the pods of %s differ:\n%s\nwant\n%s", name, got, want)
		}
	}
	all := rendered.settings(t, "spool-worker")
	for name, want := range map[string]string{"SPOOL_MAX_FILE_SIZE": "20GiB", "SPOOL_MAX_VIDEOS": "50000000", "SPOOL_LOG_FORMAT": "json"} {
		if all[name] != want {
			t.Errorf("%s is %q, want %q", name, all[name], want)
		}
	}
}

func TestTheChartTakesSecretsThatExist(t *testing.T) {
	t.Parallel()
	m := render(t, "--set=api.existingSecret=mine", "--set=worker.existingSecret=theirs")
	if len(m.secrets) != 0 {
		t.Errorf("it makes %v", m.secrets)
	}
	for name, want := range map[string]string{"spool-api": "mine", "spool-worker": "theirs"} {
		if got := m.deployments[name].Spec.Template.Spec.Containers[0].EnvFrom[1].SecretRef.Name; got != want {
			t.Errorf("%s takes the secret %s, want %s", name, got, want)
		}
	}
}

func TestPodsAreReplacedWhenASettingChanges(t *testing.T) {
	t.Parallel()
	checksum := func(m manifests) string {
		return m.deployments["spool-api"].Spec.Template.Annotations["checksum/config"]
	}
	if before, after := checksum(render(t)), checksum(render(t, "--set=settings.max_file_size=1GiB")); before == "" || before == after {
		t.Errorf("the pods have the checksums %s and %s", before, after)
	}
}

func TestTheChartSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"--set=baseURL=":                     "baseURL",
		"--set=storageURL=/data":             "storageURL",
		"--set=api.databaseURL=":             "api.databaseURL or api.existingSecret is needed",
		"--set=worker.databaseURL=":          "worker.databaseURL or worker.existingSecret is needed",
		"--set=networkPolicy.database.cidr=": "networkPolicy.database.cidr is needed",
		"--set=ingress.host=":                "ingress.host is needed",
		"--set=baseUrl=https://x.example":    "baseUrl",
		"--set=worker.apiKey=key":            "apiKey",
		"--set=settings.max-videos=1":        "max-videos",
	} {
		if _, said, err := helm(t, values, change); err == nil || !strings.Contains(said, want) {
			t.Errorf("%s: it says %q (%v); want %q", change, said, err, want)
		}
	}
}
