package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// variable matches the names of settings.
var variable = regexp.MustCompile(`^AGEGATE_[A-Z_]+$`)

// documented returns the settings that docs/operations.md lists.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kinds are the Kubernetes objects that the manifests may contain, by version and
// kind.
var kinds = map[string]func() any{
	"v1 ConfigMap": func() any { return &core.ConfigMap{} }, "v1 Service": func() any { return &core.Service{} },
	"apps/v1 Deployment": func() any { return &apps.Deployment{} }, "batch/v1 Job": func() any { return &batch.Job{} },
	"networking.k8s.io/v1 Ingress":           func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return &networking.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policy.PodDisruptionBudget{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscaling.HorizontalPodAutoscaler{} },
}

// readManifests decodes every object into the type of its kind. Like the API
// server, it refuses unknown and repeated fields. The key is kind/name.
func readManifests(t *testing.T) map[string]any {
	t.Helper()
	paths, err := filepath.Glob("../../../deploy/kubernetes/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests, %v", err)
	}
	objects := map[string]any{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var head struct {
				APIVersion, Kind string
				Metadata         struct{ Name string }
			}
			if err := yaml.Unmarshal(document, &head); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			kind := kinds[head.APIVersion+" "+head.Kind]
			if kind == nil {
				t.Fatalf("%s holds a %s of %s", path, head.Kind, head.APIVersion)
			}
			object := kind()
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			objects[head.Kind+"/"+head.Metadata.Name] = object
		}
	}
	return objects
}

func object[T any](t *testing.T, objects map[string]any, name string) T {
	t.Helper()
	o, ok := objects[name].(T)
	if !ok {
		t.Fatalf("there is no %s among %v", name, slices.Sorted(maps.Keys(objects)))
	}
	return o
}

// TestKubernetes: the manifests are valid and consistent with each other.
func TestKubernetes(t *testing.T) {
	objects := readManifests(t)
	settings := object[*core.ConfigMap](t, objects, "ConfigMap/agegate").Data
	for _, role := range []string{"api", "pages"} {
		deployment := object[*apps.Deployment](t, objects, "Deployment/agegate-"+role)
		pod := deployment.Spec.Template
		checkPod(t, role, pod.Spec, settings)
		c := pod.Spec.Containers[0]
		if !slices.Equal(c.Args, []string{"serve"}) || c.Env[0] != (core.EnvVar{Name: "AGEGATE_ROLE", Value: role}) {
			t.Errorf("%s runs %v with %v", role, c.Args, c.Env)
		}
		if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" ||
			c.StartupProbe.HTTPGet.Path != "/healthz" {
			t.Errorf("%s: its probes ask for other paths", role)
		}
		selects(t, "deployment of "+role, deployment.Spec.Selector.MatchLabels, pod.Labels)
		budget := object[*policy.PodDisruptionBudget](t, objects, "PodDisruptionBudget/agegate-"+role)
		selects(t, "budget of "+role, budget.Spec.Selector.MatchLabels, pod.Labels)
		service := object[*core.Service](t, objects, "Service/agegate-"+role)
		selects(t, "service of "+role, service.Spec.Selector, pod.Labels)
		if service.Spec.Selector["app.kubernetes.io/component"] != role ||
			!hasPort(c, service.Spec.Ports[0].TargetPort.String()) {
			t.Errorf("the service of %s leads to %v, %v", role, service.Spec.Selector, service.Spec.Ports)
		}
		network := object[*networking.NetworkPolicy](t, objects, "NetworkPolicy/agegate")
		selects(t, "network policy", network.Spec.PodSelector.MatchLabels, pod.Labels)
		for _, rule := range network.Spec.Egress {
			everywhere := slices.ContainsFunc(rule.To, func(to networking.NetworkPolicyPeer) bool { return to.IPBlock != nil })
			database := slices.ContainsFunc(rule.Ports,
				func(p networking.NetworkPolicyPort) bool { return p.Port.IntValue() == 5432 })
			if len(rule.To) == 0 || len(rule.Ports) == 0 || everywhere && database {
				t.Errorf("the network policy lets %v out to %v", rule.Ports, rule.To)
			}
		}
		for _, rule := range network.Spec.Ingress {
			if !hasPort(c, rule.Ports[0].Port.String()) {
				t.Errorf("the network policy opens %s, which %s has not", rule.Ports[0].Port, role)
			}
		}
	}
	camera := object[*apps.Deployment](t, objects, "Deployment/agegate-pages").Spec.Template.Spec.Containers[0]
	checkWorkers(t, camera)
	scaler := object[*autoscaling.HorizontalPodAutoscaler](t, objects, "HorizontalPodAutoscaler/agegate-pages").Spec
	if scaler.ScaleTargetRef.Name != "agegate-pages" || *scaler.MinReplicas < 2 ||
		scaler.MaxReplicas < *scaler.MinReplicas ||
		scaler.Metrics[0].Pods.Metric.Name != "agegate_camera_demand" {
		t.Errorf("the autoscaler is %+v", scaler)
	}
	migrate := object[*batch.Job](t, objects, "Job/agegate-migrate").Spec.Template
	checkPod(t, "migrate", migrate.Spec, settings)
	if args := migrate.Spec.Containers[0].Args; !slices.Equal(args, []string{"migrate"}) {
		t.Errorf("the job runs %v", args)
	}
	for _, path := range object[*networking.Ingress](t, objects, "Ingress/agegate").Spec.Rules[0].HTTP.Paths {
		service := object[*core.Service](t, objects, "Service/"+path.Backend.Service.Name)
		if service.Spec.Ports[0].Name != path.Backend.Service.Port.Name {
			t.Errorf("%s leads to a port that %s has not", path.Path, service.Name)
		}
	}
}

// checkPod checks the rules for every pod.
func checkPod(t *testing.T, name string, pod core.PodSpec, settings map[string]string) {
	t.Helper()
	if len(pod.Containers) != 1 || !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser != imageUser ||
		*pod.AutomountServiceAccountToken {
		t.Errorf("%s: %+v", name, pod)
	}
	c := pod.Containers[0]
	if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation ||
		!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("%s: its sandbox is %+v", name, s)
	}
	if c.Image != "agegate:VERSION" || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s: %s, %+v", name, c.Image, c.Resources)
	}
	if len(c.EnvFrom) != 2 || c.EnvFrom[0].ConfigMapRef.Name != "agegate" || c.EnvFrom[1].SecretRef.Name != "agegate" {
		t.Errorf("%s: its settings come from %+v", name, c.EnvFrom)
	}
	operations := documented(t)
	for setting := range settings {
		if !variable.MatchString(setting) || !strings.Contains(operations, "| `"+setting+"` |") {
			t.Errorf("%s is no setting", setting)
		}
	}
	if strings.Contains(settings["AGEGATE_SECRET_KEY"]+settings["AGEGATE_DATABASE_URL"], "=") {
		t.Error("the configuration holds a secret")
	}
}

// checkWorkers: there are as many workers as requested cores, not as many as the
// node has, so that they fit into the memory: at most 160 MB, and 80 for each.
func checkWorkers(t *testing.T, c core.Container) {
	t.Helper()
	i := slices.IndexFunc(c.Env, func(v core.EnvVar) bool { return v.Name == "AGEGATE_INFERENCE_WORKERS" })
	if i < 0 || c.Env[i].ValueFrom == nil || c.Env[i].ValueFrom.ResourceFieldRef.Resource != "requests.cpu" {
		t.Fatalf("the number of workers is the node's: %v", c.Env)
	}
	if need := 160 + 80*c.Resources.Requests.Cpu().Value(); c.Resources.Limits.Memory().Value() < need*1_000_000 {
		t.Errorf("%s workers take %d MB, and the limit is %s", c.Resources.Requests.Cpu(), need, c.Resources.Limits.Memory())
	}
}

func selects(t *testing.T, what string, selector, labels map[string]string) {
	t.Helper()
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("the %s wants %s=%s, but pods have %v", what, key, value, labels)
		}
	}
}

func hasPort(c core.Container, name string) bool {
	return slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return p.Name == name })
}

// TestCompose: the file is valid by Compose's schema, names the missing settings,
// and matches the image.
func TestCompose(t *testing.T) {
	load := func(env ...string) (*cli.ProjectOptions, error) {
		return cli.NewProjectOptions([]string{"../../../deploy/compose.yaml"}, cli.WithEnv(env))
	}
	options, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := options.LoadProject(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "is missing a value") {
		t.Errorf("without variables: %v", err)
	}
	options, err = load("AGEGATE_VERSION=1.0.0", "AGEGATE_BASE_URL=https://age.example.com", "AGEGATE_SECRET_KEY=key",
		"POSTGRES_PASSWORD=word")
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	gateway, database := project.Services["agegate"], project.Services["database"]
	if gateway.Image != "agegate:"+imageTag("v1.0.0") || !gateway.ReadOnly ||
		!slices.Equal(gateway.CapDrop, []string{"ALL"}) {
		t.Errorf("the gateway is %+v", gateway)
	}
	for name, service := range project.Services {
		if !slices.Equal(service.CapDrop, []string{"ALL"}) ||
			!slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s drops %v and has the options %v", name, service.CapDrop, service.SecurityOpt)
		}
	}
	if test := strings.Join(gateway.HealthCheck.Test, " "); test != "CMD /usr/bin/agegate health" {
		t.Errorf("the health check is %s", test)
	}
	if gateway.Ports[0].Target != 8080 || gateway.Ports[0].HostIP != "127.0.0.1" {
		t.Errorf("the ports are %+v", gateway.Ports)
	}
	operations := documented(t)
	for setting := range gateway.Environment {
		if !strings.Contains(operations, "| `"+setting+"` |") {
			t.Errorf("%s is no setting", setting)
		}
	}
	major, ok := strings.CutPrefix(database.Image, "postgres:")
	if _, err := strconv.Atoi(major); err != nil || !ok {
		t.Errorf("the database is %s: name a major version", database.Image)
	}
	if url := gateway.Environment["AGEGATE_DATABASE_URL"]; url == nil ||
		*url != "postgres://agegate:word@database/agegate?sslmode=disable" ||
		*database.Environment["POSTGRES_USER"] != "agegate" {
		t.Errorf("the gateway connects to %v", url)
	}
}
