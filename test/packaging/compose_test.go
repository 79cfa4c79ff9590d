package packaging

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const composeFile = "../../packaging/docker/compose.yaml"

// secrets are the variables of .env, as docs/docker.md makes them.
var secrets = map[string]string{
	"POSTGRES_PASSWORD": "database-secret-0123456789", "S3_ACCESS_KEY": "spool", "S3_SECRET_KEY": "bucket-secret-0123456789",
	"SPOOL_API_KEY": "api-secret-0123456789abcdef",
}

// compose reads the compose file as Docker does: with its schema and these variables.
func compose(t *testing.T, env map[string]string) (*types.Project, error) {
	t.Helper()
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	options, err := cli.NewProjectOptions([]string{composeFile}, cli.WithEnv(list))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

func TestEveryContainerIsConfined(t *testing.T) {
	t.Parallel()
	project, err := compose(t, secrets)
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Services) < 5 {
		t.Errorf("only %d services", len(project.Services))
	}
	for name, s := range project.Services {
		switch {
		case !s.ReadOnly:
			t.Errorf("%s can change its root file system", name)
		case !slices.Contains(s.CapDrop, "ALL") || len(s.CapAdd) > 0 || s.Privileged:
			t.Errorf("%s has capabilities", name)
		case !slices.Contains(s.SecurityOpt, "no-new-privileges:true"):
			t.Errorf("%s may get new privileges", name)
		case s.MemLimit <= 0 || s.PidsLimit <= 0:
			t.Errorf("%s has no limit of memory or processes", name)
		case s.NetworkMode != "" || s.Pid != "" || s.Ipc != "":
			t.Errorf("%s is in a namespace of the host", name)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to other machines", name, p.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && !v.ReadOnly {
				t.Errorf("%s can write to %s of the host", name, v.Source)
			}
		}
	}
}

func TestContainersHaveTheSecretsThatTheyNeed(t *testing.T) {
	t.Parallel()
	project, err := compose(t, secrets)
	if err != nil {
		t.Fatal(err)
	}
	holders := map[string][]string{}
	for service, s := range project.Services {
		for _, value := range s.Environment {
			for secret, text := range secrets {
				if value != nil && strings.Contains(*value, text) && secret != "S3_ACCESS_KEY" {
					holders[secret] = append(holders[secret], service)
				}
			}
		}
	}
	for secret, want := range map[string]string{
		"SPOOL_API_KEY": "api", "POSTGRES_PASSWORD": "api postgres worker", "S3_SECRET_KEY": "api s3 worker",
	} {
		if got := strings.Join(slices.Sorted(slices.Values(holders[secret])), " "); got != want {
			t.Errorf("%s is known to %s; want %s", secret, got, want)
		}
	}
}

func TestComposeNeedsEverySecret(t *testing.T) {
	t.Parallel()
	for name := range secrets {
		env := maps.Clone(secrets)
		delete(env, name)
		if _, err := compose(t, env); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
