package main

import (
	"os"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// TestPodMonitor: it selects the pods of all roles at a port that they have, and
// not the job that migrates.
func TestPodMonitor(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/prometheus/podmonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var monitor struct {
		meta.TypeMeta   `json:",inline"`
		meta.ObjectMeta `json:"metadata"`

		Spec struct {
			Selector            meta.LabelSelector
			PodMetricsEndpoints []struct{ Port, Interval string }
		}
	}
	if err := yaml.UnmarshalStrict(text, &monitor); err != nil {
		t.Fatal(err)
	}
	selector, err := meta.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil || monitor.Kind != "PodMonitor" || len(monitor.Spec.PodMetricsEndpoints) != 1 {
		t.Fatalf("%+v, %v", monitor, err)
	}
	for overlay, deployments := range overlays {
		objects := buildOverlay(t, overlay)
		for name := range deployments {
			pod := object[*apps.Deployment](t, objects, "Deployment/"+name).Spec.Template
			if !selector.Matches(labels.Set(pod.Labels)) ||
				!hasPort(pod.Spec.Containers[0], monitor.Spec.PodMetricsEndpoints[0].Port) {
				t.Errorf("%s: it does not scrape the pods of %s", overlay, name)
			}
		}
		job, ok := objects["Job/agegate-migrate"].(*batch.Job)
		if ok && selector.Matches(labels.Set(job.Spec.Template.Labels)) {
			t.Errorf("%s: it scrapes the job that migrates, which has no metrics", overlay)
		}
	}
}
