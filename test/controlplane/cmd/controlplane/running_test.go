package main_test

import (
	"os"
	"reflect"
	"testing"
)

// TestRunning looks at one control plane from all sides.
func TestRunning(t *testing.T) {
	c := start(t)
	for name, look := range map[string]func(*testing.T, *controlPlane){
		"the document is complete":         documentIsComplete,
		"machines find everything by name": machinesFindEverythingByName,
		"the stub fetches the payload":     stubFetchesThePayload,
		"a standalone cluster's worker":    standaloneWorker,
		"who approves what":                whoApprovesWhat,
	} {
		t.Run(name, func(t *testing.T) { look(t, c) })
	}
}

func documentIsComplete(t *testing.T, c *controlPlane) {
	document := reflect.ValueOf(c.Document)
	for i := range document.NumField() {
		if document.Field(i).IsZero() {
			t.Errorf("%s is empty", document.Type().Field(i).Name)
		}
	}
	for _, path := range []string{
		c.Kubeconfig, c.ApproverKubeconfig, c.BootstrapKubeconfig, c.ClusterCA,
		c.UserData, c.Payload, c.IgnitionCA, c.PullSecret, c.WorkerUserData, c.WorkerConfig, c.MachineConfigCA,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want a file that only root reads", path, info, err)
		}
	}
}
