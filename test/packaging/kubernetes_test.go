package packaging

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// secretSettings are what a worker must not have.
var secretSettings = []string{"SPOOL_API_KEY", "SPOOL_API_KEY_FILE"}

func TestEveryPodIsConfined(t *testing.T) { installed(t, checkPods) }

func checkPods(t *testing.T, m manifests) {
	t.Helper()
	if len(m.deployments) < 2 {
		t.Fatalf("only %d deployments", len(m.deployments))
	}
	for name, d := range m.deployments {
		spec := d.Spec.Template.Spec
		p := spec.SecurityContext
		switch {
		case p == nil || !isTrue(p.RunAsNonRoot) || p.RunAsUser == nil || *p.RunAsUser == 0:
			t.Errorf("%s may run as root", name)
		case p.SeccompProfile == nil || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault:
			t.Errorf("%s may make every system call", name)
		case spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken:
			t.Errorf("%s has a token for the cluster", name)
		case spec.HostNetwork || spec.HostPID || spec.HostIPC:
			t.Errorf("%s is in a namespace of its node", name)
		}
		for _, v := range spec.Volumes {
			if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil {
				t.Errorf("%s: volume %s is no scratch space with a limit", name, v.Name)
			}
		}
		for _, c := range spec.Containers {
			checkContainer(t, name, c)
		}
	}
}

func checkContainer(t *testing.T, name string, c core.Container) {
	t.Helper()
	s := c.SecurityContext
	switch {
	case s == nil || !isTrue(s.ReadOnlyRootFilesystem):
		t.Errorf("%s can change its root file system", name)
	case s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
		t.Errorf("%s may get new privileges", name)
	case s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") || len(s.Capabilities.Add) > 0:
		t.Errorf("%s has capabilities", name)
	}
	for _, r := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory, core.ResourceEphemeralStorage} {
		limit, request := c.Resources.Limits[r], c.Resources.Requests[r]
		if limit.IsZero() || request.IsZero() || request.Cmp(limit) > 0 {
			t.Errorf("%s: %s is requested as %s, with the limit %s", name, r, request.String(), limit.String())
		}
	}
	if c.ReadinessProbe == nil || c.LivenessProbe == nil {
		t.Errorf("%s is not probed", name)
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// Each role gets what it needs, and a worker nothing with which somebody could call the API.
func TestSecretsAreSplit(t *testing.T) { installed(t, checkSecrets) }

func checkSecrets(t *testing.T, m manifests) {
	t.Helper()
	api, worker := m.settings(t, "spool-api"), m.settings(t, "spool-worker")
	for _, name := range secretSettings {
		if _, has := worker[name]; has {
			t.Errorf("the worker has %s", name)
		}
	}
	if api["SPOOL_ROLE"] != "api" || worker["SPOOL_ROLE"] != "worker" {
		t.Errorf("roles %q and %q", api["SPOOL_ROLE"], worker["SPOOL_ROLE"])
	}
	if api["SPOOL_DATABASE_URL"] == worker["SPOOL_DATABASE_URL"] {
		t.Error("the worker uses the database as the user that owns the keys")
	}
	for _, name := range []string{"SPOOL_DATABASE_URL", "SPOOL_STORAGE_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if api[name] == "" || worker[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if api["SPOOL_API_KEY"] == "" {
		t.Error("the API has no key")
	}
}

// settings are the environment variables of a deployment's container.
func (m manifests) settings(t *testing.T, deployment string) map[string]string {
	t.Helper()
	d := m.deployments[deployment]
	if d == nil {
		t.Fatalf("there is no deployment %s", deployment)
	}
	all := map[string]string{}
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, from := range c.EnvFrom {
			switch {
			case from.ConfigMapRef != nil && m.configs[from.ConfigMapRef.Name] != nil:
				maps.Copy(all, m.configs[from.ConfigMapRef.Name].Data)
			case from.SecretRef != nil && m.secrets[from.SecretRef.Name] != nil:
				maps.Copy(all, m.secrets[from.SecretRef.Name].StringData)
			default:
				t.Errorf("%s takes variables from something that is not there", deployment)
			}
		}
		for _, v := range c.Env {
			all[v.Name] = v.Value
		}
	}
	return all
}

func TestSelectorsFindTheirPods(t *testing.T) { installed(t, checkSelectors) }

func checkSelectors(t *testing.T, m manifests) {
	t.Helper()
	for name, d := range m.deployments {
		if !selects(t, d.Spec.Selector, d) {
			t.Errorf("deployment %s does not select its own pods", name)
		}
	}
	for name, s := range m.services {
		wantOne(t, "service "+name, m.selected(t, &meta.LabelSelector{MatchLabels: s.Spec.Selector}), "spool-api")
		for _, p := range s.Spec.Ports {
			wantPort(t, m.deployments["spool-api"], p.TargetPort.String())
		}
	}
	for name, b := range m.budgets {
		wantOne(t, "budget "+name, m.selected(t, b.Spec.Selector), "spool-api")
	}
}

// Nothing may talk to anything that no policy names, and nobody may reach the nodes or their metadata.
func TestNetworkIsClosed(t *testing.T) { installed(t, checkNetwork) }

func checkNetwork(t *testing.T, m manifests) {
	t.Helper()
	var deny *network.NetworkPolicy
	for name, p := range m.policies {
		if strings.HasSuffix(name, "deny-all") {
			deny = p
		}
	}
	if deny == nil || len(m.selected(t, &deny.Spec.PodSelector)) != len(m.deployments) ||
		len(deny.Spec.PolicyTypes) != 2 || len(deny.Spec.Ingress)+len(deny.Spec.Egress) > 0 {
		t.Fatalf("the policy deny-all is %+v", deny)
	}
	ports := map[string][]string{}
	for name, p := range m.policies {
		if p == deny {
			continue
		}
		pods := m.selected(t, &p.Spec.PodSelector)
		if len(pods) == 0 {
			t.Errorf("policy %s selects no pods", name)
		}
		for _, rule := range p.Spec.Ingress {
			wantPeers(t, name, rule.From, rule.Ports)
			for _, pod := range pods {
				wantPort(t, m.deployments[pod], rule.Ports[0].Port.String())
			}
		}
		for _, rule := range p.Spec.Egress {
			wantPeers(t, name, rule.To, rule.Ports)
			for _, pod := range pods {
				for _, port := range rule.Ports {
					ports[pod] = append(ports[pod], port.Port.String())
				}
			}
		}
	}
	for _, pod := range []string{"spool-api", "spool-worker"} {
		slices.Sort(ports[pod])
		if got := strings.Join(slices.Compact(ports[pod]), " "); got != "443 53 5432" {
			t.Errorf("%s may connect to the ports %s; want those of DNS, PostgreSQL and S3", pod, got)
		}
	}
}

// wantPeers wants a rule that names who and where to; an empty list would mean everybody.
func wantPeers(t *testing.T, name string, peers []network.NetworkPolicyPeer, ports []network.NetworkPolicyPort) {
	t.Helper()
	if len(peers) == 0 || len(ports) == 0 {
		t.Errorf("policy %s is open to everybody, or on every port", name)
	}
	for _, p := range peers {
		if p.IPBlock != nil && p.IPBlock.CIDR == "0.0.0.0/0" && !slices.Contains(p.IPBlock.Except, "169.254.0.0/16") {
			t.Errorf("policy %s lets pods reach the metadata service of their node", name)
		}
	}
}

// selected returns the names of the deployments whose pods have the labels.
func (m manifests) selected(t *testing.T, s *meta.LabelSelector) []string {
	t.Helper()
	var names []string
	for name, d := range m.deployments {
		if selects(t, s, d) {
			names = append(names, name)
		}
	}
	return names
}

func selects(t *testing.T, s *meta.LabelSelector, d *apps.Deployment) bool {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(d.Spec.Template.Labels))
}

func wantOne(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if len(got) != 1 || got[0] != want {
		t.Errorf("%s selects the pods of %q; want those of %s", what, got, want)
	}
}

// wantPort wants a container of the deployment to have a port of that name.
func wantPort(t *testing.T, d *apps.Deployment, name string) {
	t.Helper()
	for _, c := range d.Spec.Template.Spec.Containers {
		if slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == name }) {
			return
		}
	}
	t.Errorf("%s has no port %s", d.Name, name)
}
