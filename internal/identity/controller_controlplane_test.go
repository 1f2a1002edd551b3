// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"context"
	"crypto"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/controller"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// grantRights creates the objects of deploy/hosted-base, once for all tests.
var grantRights = sync.OnceValue(func() error {
	config, err := clientcmd.BuildConfigFromFlags("", kubetest.Plane.Kubeconfig)
	if err != nil {
		return err
	}
	admin, err := kubernetes.NewForConfig(config)
	for _, file := range []string{"namespace.yaml", "crd.yaml", "rbac.yaml"} {
		if err == nil {
			err = rights.Grant(context.Background(), admin, "hosted-base/"+file)
		}
	}
	return err
})

// decisionOnCSR is a line in the log of a controller.
type decisionOnCSR struct {
	Outcome string `json:"msg"`
	CSR     string `json:"name"`
	Reason  string `json:"reason"`
}

// runController runs the controller with the rights of deploy/hosted-base until the test ends. It returns a function
// that returns the last decision on a CSR.
func runController(t *testing.T) func(csr string) decisionOnCSR {
	t.Helper()
	if err := grantRights(); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := rights.NewKubeconfig(t.Context(), kubetest.AdminClient(t), rights.Controller,
		kubetest.Plane.Kubeconfig, "https://"+kubetest.Plane.APIForward)
	if err != nil {
		t.Fatal(err)
	}
	config, hashes, err := cluster.ParseKubeconfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	decisions := map[string]decisionOnCSR{}
	logger := funcr.NewJSON(func(line string) {
		var one decisionOnCSR
		if json.Unmarshal([]byte(line), &one) == nil && one.Reason != "" || one.Outcome == string(approver.Approved) {
			mu.Lock()
			defer mu.Unlock()
			decisions[one.CSR] = one
		}
	}, funcr.Options{})
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	m, err := controller.New(controller.Options{
		Config: config, ClusterCA: hashes, Namespace: v1alpha1.Namespace, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(csr string) decisionOnCSR {
		mu.Lock()
		defer mu.Unlock()
		return decisions[csr]
	}
}

const enrollmentsPath = "/apis/hcp-node-agent.io/v1alpha1/nodeenrollments"

// enroll creates a NodeEnrollment, and returns the annotations of its join token.
func enroll(t *testing.T, node string) func(crypto.PublicKey) (map[string]string, error) {
	t.Helper()
	if err := grantRights(); err != nil {
		t.Fatal(err)
	}
	ca := kubetest.ReadFile(t, kubetest.Plane.ClusterCA)
	token, record, err := enrollment.New(enrollment.Options{NodeName: node, ClusterCA: ca, Lifetime: time.Hour},
		time.Now())
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(object)
	if err == nil {
		err = kubetest.AdminClient(t).Discovery().RESTClient().Post().AbsPath(enrollmentsPath).Body(body).
			SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	return func(key crypto.PublicKey) (map[string]string, error) { return token.Sign(hashes, key) }
}
