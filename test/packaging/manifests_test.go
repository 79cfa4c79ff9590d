package packaging

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const manifestFolder = "../../packaging/kubernetes"

// manifests are the objects of the folder, by name.
type manifests struct {
	namespaces  map[string]*core.Namespace
	configs     map[string]*core.ConfigMap
	secrets     map[string]*core.Secret
	services    map[string]*core.Service
	deployments map[string]*apps.Deployment
	budgets     map[string]*policy.PodDisruptionBudget
	policies    map[string]*network.NetworkPolicy
	ingresses   map[string]*network.Ingress
}

// kustomization is what we use of that format, which kubectl reads before it knows the cluster.
type kustomization struct {
	APIVersion string                                   `json:"apiVersion"`
	Kind       string                                   `json:"kind"`
	Namespace  string                                   `json:"namespace"`
	Resources  []string                                 `json:"resources"`
	Images     []struct{ Name, NewName, NewTag string } `json:"images"`
}

// installed runs a test with the objects of each way to install: the folder, and the chart.
func installed(t *testing.T, test func(*testing.T, manifests)) {
	t.Helper()
	t.Parallel()
	t.Run("kubectl", func(t *testing.T) { test(t, load(t)) })
	t.Run("helm", func(t *testing.T) { test(t, render(t)) })
}

func newManifests() manifests {
	return manifests{
		map[string]*core.Namespace{}, map[string]*core.ConfigMap{}, map[string]*core.Secret{}, map[string]*core.Service{},
		map[string]*apps.Deployment{}, map[string]*policy.PodDisruptionBudget{}, map[string]*network.NetworkPolicy{}, map[string]*network.Ingress{},
	}
}

// load decodes every document of the folder. A field that the API does not have is an error.
func load(t *testing.T) manifests {
	t.Helper()
	m := newManifests()
	for _, file := range resources(t) {
		text, err := os.ReadFile(filepath.Join(manifestFolder, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			m.add(t, file, document)
		}
	}
	return m
}

// resources are the files that the kustomization names. It must name all.
func resources(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifestFolder, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k kustomization
	if err := yaml.UnmarshalStrict(text, &k); err != nil {
		t.Fatalf("kustomization.yaml: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(manifestFolder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if name := filepath.Base(path); name != "kustomization.yaml" && !slices.Contains(k.Resources, name) {
			t.Errorf("kustomization.yaml does not name %s", name)
		}
	}
	return k.Resources
}

func (m manifests) add(t *testing.T, file string, document []byte) {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(document, &head); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	switch head.APIVersion + " " + head.Kind {
	case "v1 Namespace":
		put(t, file, document, m.namespaces, func(o *core.Namespace) string { return o.Name })
	case "v1 ConfigMap":
		put(t, file, document, m.configs, func(o *core.ConfigMap) string { return o.Name })
	case "v1 Secret":
		put(t, file, document, m.secrets, func(o *core.Secret) string { return o.Name })
	case "v1 Service":
		put(t, file, document, m.services, func(o *core.Service) string { return o.Name })
	case "apps/v1 Deployment":
		put(t, file, document, m.deployments, func(o *apps.Deployment) string { return o.Name })
	case "policy/v1 PodDisruptionBudget":
		put(t, file, document, m.budgets, func(o *policy.PodDisruptionBudget) string { return o.Name })
	case "networking.k8s.io/v1 NetworkPolicy":
		put(t, file, document, m.policies, func(o *network.NetworkPolicy) string { return o.Name })
	case "networking.k8s.io/v1 Ingress":
		put(t, file, document, m.ingresses, func(o *network.Ingress) string { return o.Name })
	default:
		t.Errorf("%s has an object of an unknown kind: %s %s", file, head.APIVersion, head.Kind)
	}
}

// put decodes an object as its type and keeps it under its name.
func put[T any](t *testing.T, file string, document []byte, all map[string]*T, name func(*T) string) {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	if n := name(object); n == "" || all[n] != nil {
		t.Errorf("%s: an object has no name of its own (%q)", file, n)
	} else {
		all[n] = object
	}
}

// A misspelt field is silently ignored by older tools; here it must not be.
func TestStrictDecodingFindsMisspeltFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(manifestFolder, "worker.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"readOnlyRootFilesystem", "seccompProfile", "limits", "readinessProbe", "sizeLimit"} {
		wrong := strings.Replace(string(text), field, field+"s", 1)
		if wrong == string(text) {
			t.Errorf("worker.yaml has no %s", field)
		}
		if err := yaml.UnmarshalStrict([]byte(wrong), new(apps.Deployment)); err == nil {
			t.Errorf("%ss is taken for a field", field)
		}
	}
}
