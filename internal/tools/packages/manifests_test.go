package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// variable matches the names of settings.
var variable = regexp.MustCompile(`^AGEGATE_[A-Z_]+$`)

// documented returns the settings that docs/operations/configure.md lists.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operations/configure.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kinds are the Kubernetes objects that the manifests may contain, by version and
// kind.
var kinds = map[string]func() any{
	"v1 ConfigMap": func() any { return &core.ConfigMap{} }, "v1 Service": func() any { return &core.Service{} },
	"v1 PersistentVolumeClaim":               func() any { return &core.PersistentVolumeClaim{} },
	"apps/v1 Deployment":                     func() any { return &apps.Deployment{} },
	"batch/v1 Job":                           func() any { return &batch.Job{} },
	"networking.k8s.io/v1 Ingress":           func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return &networking.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policy.PodDisruptionBudget{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscaling.HorizontalPodAutoscaler{} },
}

// buildOverlay builds an overlay like `kubectl apply -k`, and decodes every object
// into the type of its kind. Like the API server, it refuses unknown fields. The key
// is kind/name.
func buildOverlay(t *testing.T, overlay string) map[string]any {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
		Run(filesys.MakeFsOnDisk(), "../../../deploy/kubernetes/overlays/"+overlay)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{}
	for _, resource := range built.Resources() {
		kind := kinds[resource.GetApiVersion()+" "+resource.GetKind()]
		if kind == nil {
			t.Fatalf("%s holds a %s of %s", overlay, resource.GetKind(), resource.GetApiVersion())
		}
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object := kind()
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Errorf("%s, %s: %v", overlay, resource.GetName(), err)
		}
		objects[resource.GetKind()+"/"+resource.GetName()] = object
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

// overlays are those of deploy/kubernetes, each with its deployments and their roles.
var overlays = map[string]map[string]string{
	"single":     {"agegate": ""},
	"postgresql": {"agegate": ""},
	"pages":      {"agegate-api": "api", "agegate-pages": "pages"},
}

// TestKubernetes: the objects of each overlay are valid and consistent with each
// other.
func TestKubernetes(t *testing.T) {
	for overlay, deployments := range overlays {
		t.Run(overlay, func(t *testing.T) {
			objects := buildOverlay(t, overlay)
			settings := object[*core.ConfigMap](t, objects, "ConfigMap/agegate").Data
			for name, role := range deployments {
				checkDeployment(t, objects, name, role)
				checkPod(t, name, object[*apps.Deployment](t, objects, "Deployment/"+name).Spec.Template.Spec, settings)
			}
			for _, path := range object[*networking.Ingress](t, objects, "Ingress/agegate").Spec.Rules[0].HTTP.Paths {
				service := object[*core.Service](t, objects, "Service/"+path.Backend.Service.Name)
				if service.Spec.Ports[0].Name != path.Backend.Service.Port.Name {
					t.Errorf("%s leads to a port that %s has not", path.Path, service.Name)
				}
			}
			if overlay == "single" {
				checkSingle(t, objects, settings)
				return
			}
			for name, role := range deployments {
				checkScaled(t, objects, name, role)
			}
			migrate := object[*batch.Job](t, objects, "Job/agegate-migrate").Spec.Template
			checkPod(t, "migrate", migrate.Spec, settings)
			if args := migrate.Spec.Containers[0].Args; !slices.Equal(args, []string{"migrate"}) {
				t.Errorf("the job runs %v", args)
			}
		})
	}
}

// TestKubernetesFields: no file and no patch has a field twice, which Kustomize does
// not notice.
func TestKubernetesFields(t *testing.T) {
	once := func(name string, text []byte) {
		if _, err := yaml.YAMLToJSONStrict(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	files := os.DirFS("../../../deploy/kubernetes")
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		once(name, text)
		if path.Base(name) != "kustomization.yaml" {
			return nil
		}
		var k types.Kustomization
		if err := yaml.UnmarshalStrict(text, &k); err != nil {
			return err
		}
		for _, patch := range k.Patches {
			once(name, []byte(patch.Patch))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// checkDeployment checks a deployment, and what selects its pods and leads to them.
func checkDeployment(t *testing.T, objects map[string]any, name, role string) {
	t.Helper()
	deployment := object[*apps.Deployment](t, objects, "Deployment/"+name)
	pod := deployment.Spec.Template
	c := pod.Spec.Containers[0]
	i := slices.IndexFunc(c.Env, func(v core.EnvVar) bool { return v.Name == "AGEGATE_ROLE" })
	if !slices.Equal(c.Args, []string{"serve"}) || (role == "") != (i < 0) || i >= 0 && c.Env[i].Value != role {
		t.Errorf("%s runs %v with %v", name, c.Args, c.Env)
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" ||
		c.StartupProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("%s: its probes ask for other paths", name)
	}
	selects(t, "deployment "+name, deployment.Spec.Selector.MatchLabels, pod.Labels)
	service := object[*core.Service](t, objects, "Service/"+name)
	selects(t, "service "+name, service.Spec.Selector, pod.Labels)
	if service.Spec.Selector["app.kubernetes.io/component"] == "" ||
		!hasPort(c, service.Spec.Ports[0].TargetPort.String()) {
		t.Errorf("the service %s leads to %v, %v", name, service.Spec.Selector, service.Spec.Ports)
	}
	for of, o := range objects {
		if network, ok := o.(*networking.NetworkPolicy); ok {
			selects(t, of, network.Spec.PodSelector.MatchLabels, pod.Labels)
			checkNetwork(t, network, c)
		}
	}
	if role != "api" {
		checkWorkers(t, c)
	}
}

// checkNetwork: traffic goes to named ports only, and to the database only where it
// is.
func checkNetwork(t *testing.T, network *networking.NetworkPolicy, c core.Container) {
	t.Helper()
	for _, rule := range network.Spec.Egress {
		everywhere := slices.ContainsFunc(rule.To, func(to networking.NetworkPolicyPeer) bool { return to.IPBlock != nil })
		database := slices.ContainsFunc(rule.Ports,
			func(p networking.NetworkPolicyPort) bool { return p.Port.IntValue() == 5432 })
		if len(rule.To) == 0 || len(rule.Ports) == 0 || everywhere && database {
			t.Errorf("%s lets %v out to %v", network.Name, rule.Ports, rule.To)
		}
	}
	for _, rule := range network.Spec.Ingress {
		if !hasPort(c, rule.Ports[0].Port.String()) {
			t.Errorf("%s opens %s, which the pods have not", network.Name, rule.Ports[0].Port)
		}
	}
}

// checkSingle: one process at a time has the file, which is on a volume.
func checkSingle(t *testing.T, objects map[string]any, settings map[string]string) {
	t.Helper()
	deployment := object[*apps.Deployment](t, objects, "Deployment/agegate").Spec
	if *deployment.Replicas != 1 || deployment.Strategy.Type != apps.RecreateDeploymentStrategyType {
		t.Errorf("%d replicas, by %s", *deployment.Replicas, deployment.Strategy.Type)
	}
	pod := deployment.Template.Spec
	mount, volume := pod.Containers[0].VolumeMounts[0], pod.Volumes[0]
	object[*core.PersistentVolumeClaim](t, objects, "PersistentVolumeClaim/"+volume.PersistentVolumeClaim.ClaimName)
	if mount.Name != volume.Name || mount.MountPath != dataDir || *pod.SecurityContext.FSGroup != imageUser ||
		settings["AGEGATE_DATABASE_URL"] != "sqlite:"+dataDir+"/agegate.db" {
		t.Errorf("the volume %+v at %+v, and %s", volume, mount, settings["AGEGATE_DATABASE_URL"])
	}
	for name := range objects {
		if kind, _, _ := strings.Cut(name, "/"); kind == "HorizontalPodAutoscaler" || kind == "PodDisruptionBudget" {
			t.Errorf("there is a %s", name)
		}
	}
}

// checkScaled: a node is drained one replica after the other, and what looks at
// frames is scaled by the camera's demand.
func checkScaled(t *testing.T, objects map[string]any, name, role string) {
	t.Helper()
	deployment := object[*apps.Deployment](t, objects, "Deployment/"+name).Spec
	budget := object[*policy.PodDisruptionBudget](t, objects, "PodDisruptionBudget/"+name)
	selects(t, "budget "+name, budget.Spec.Selector.MatchLabels, deployment.Template.Labels)
	if role == "api" {
		if *deployment.Replicas < 2 || objects["HorizontalPodAutoscaler/"+name] != nil {
			t.Errorf("%s has %d replicas", name, *deployment.Replicas)
		}
		return
	}
	scaler := object[*autoscaling.HorizontalPodAutoscaler](t, objects, "HorizontalPodAutoscaler/"+name).Spec
	if deployment.Replicas != nil || scaler.ScaleTargetRef.Name != name || *scaler.MinReplicas < 2 ||
		scaler.MaxReplicas < *scaler.MinReplicas || scaler.Metrics[0].Pods.Metric.Name != "agegate_camera_demand" {
		t.Errorf("the autoscaler is %+v", scaler)
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
