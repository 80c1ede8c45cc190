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

// TestPodMonitor: it selects the pods of both roles at a port that they have, and
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
	objects := readManifests(t)
	for _, role := range []string{"api", "pages"} {
		pod := object[*apps.Deployment](t, objects, "Deployment/agegate-"+role).Spec.Template
		if !selector.Matches(labels.Set(pod.Labels)) ||
			!hasPort(pod.Spec.Containers[0], monitor.Spec.PodMetricsEndpoints[0].Port) {
			t.Errorf("it does not scrape the pods of the %s", role)
		}
	}
	job := object[*batch.Job](t, objects, "Job/agegate-migrate")
	if selector.Matches(labels.Set(job.Spec.Template.Labels)) {
		t.Error("it scrapes the job that migrates, which has no metrics")
	}
}
