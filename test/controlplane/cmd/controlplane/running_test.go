// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"reflect"
	"testing"
)

// TestRunning checks several properties of one control plane.
func TestRunning(t *testing.T) {
	c := start(t)
	for name, test := range map[string]func(*testing.T, *controlPlane){
		"the document is complete":      testDocument,
		"machines resolve all names":    testNameResolution,
		"user data fetches the payload": testUserDataFetchesPayload,
		"a standalone cluster's worker": testStandaloneWorker,
		"approval of requests":          testApproval,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

func testDocument(t *testing.T, c *controlPlane) {
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
