// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// controllerKubeconfig has exactly the rights of deploy/hosted-base/rbac.yaml.
var controllerKubeconfig []byte

func TestMain(m *testing.M) {
	os.Exit(bed.RunTests(func(c *bed.ControlPlane) { kubetest.Plane = c }, func() int {
		if err := prepareCluster(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		// Libraries log what they cannot return, such as Events that the API server has rejected.
		failed := make(chan string, 1000)
		logger := funcr.New(func(prefix, line string) {
			if strings.Contains(line, "rejected") {
				failed <- prefix + line
			}
		}, funcr.Options{})
		klog.SetLogger(logger)
		ctrllog.SetLogger(logger)
		code := m.Run()
		if len(failed) > 0 {
			fmt.Fprintf(os.Stderr, "%d Events were rejected: %s\n", len(failed), <-failed)
			return 1
		}
		return code
	}))
}

func prepareCluster(ctx context.Context) error {
	server := "https://" + kubetest.Plane.APIForward
	config, err := clientcmd.BuildConfigFromFlags(server, kubetest.Plane.Kubeconfig)
	if err != nil {
		return err
	}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, file := range []string{"namespace.yaml", "crd.yaml", "rbac.yaml"} {
		if err := rights.Grant(ctx, admin, "hosted-base/"+file); err != nil {
			return err
		}
	}
	controllerKubeconfig, err = rights.NewKubeconfig(ctx, admin, rights.Controller, kubetest.Plane.Kubeconfig, server)
	return err
}

// testController is a running controller and what it has logged.
type testController struct {
	t       *testing.T
	cache   client.Reader
	stop    func() // stops the controller and waits until it has ended
	mu      sync.Mutex
	entries []logEntry
}

// logEntry is a line of the log.
type logEntry struct {
	Message string `json:"msg"`
	CSR     string `json:"name"`
	Node    string `json:"node"`
	Key     string `json:"key"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy"`
	Error   string `json:"error"`
}

// startController starts the controllers with the rights of the manifest and without leader election.
func startController(t *testing.T) *testController {
	t.Helper()
	return startWith(t, controllerKubeconfig)
}

func (c *testController) newManager(kubeconfig []byte) manager.Manager {
	c.t.Helper()
	m, err := newManager(c.options(kubeconfig), false)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *testController) options(kubeconfig []byte) Options {
	c.t.Helper()
	config, hashes, err := cluster.ParseKubeconfig(kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	logger := funcr.NewJSON(func(line string) {
		var entry logEntry
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			entry.Error = "unreadable: " + line
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.entries = append(c.entries, entry)
	}, funcr.Options{})
	return Options{Config: config, ClusterCA: hashes, Namespace: v1alpha1.Namespace, Logger: logger}
}

// run starts a manager, which the end of the test stops.
func (c *testController) run(m manager.Manager, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	c.cache = m.GetCache()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	})
	c.t.Cleanup(c.stop)
}

// decisions returns the entries about a CSR.
func (c *testController) decisions(csr string) []logEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.entries), func(entry logEntry) bool {
		return entry.CSR != csr || entry.Error != ""
	})
}

// errors returns the errors in the log, without those of a controller that is stopped.
func (c *testController) errors() []logEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.entries), func(entry logEntry) bool {
		return entry.Error == "" || entry.Error == "leader election lost" ||
			strings.HasSuffix(entry.Error, context.Canceled.Error())
	})
}

// count returns the number of entries about a node.
func (c *testController) count(node string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(c.entries), func(entry logEntry) bool { return entry.Node != node }))
}

// last returns the last decision on a CSR.
func (c *testController) last(csr string) logEntry {
	if all := c.decisions(csr); len(all) > 0 {
		return all[len(all)-1]
	}
	return logEntry{}
}

// awaitDecision waits until the last decision on a CSR has an outcome and a part of its reason.
func (c *testController) awaitDecision(csr string, outcome approver.Outcome, reason string) logEntry {
	c.t.Helper()
	var last logEntry
	waittest.Until(c.t, fmt.Sprintf("waiting for the decision %s: %s on %s", outcome, reason, csr), func() (any, bool) {
		last = c.last(csr)
		return last, last.Message == string(outcome) && strings.Contains(last.Reason, reason)
	})
	return last
}

// awaitAddress waits until the cache of the controller has a Node with an address.
func (c *testController) awaitAddress(address string) {
	c.t.Helper()
	waittest.Until(c.t, "waiting for a Node with "+address+" in the cache", func() (any, bool) {
		var list corev1.NodeList
		err := c.cache.List(c.t.Context(), &list, client.MatchingFields{addressIndex: address})
		return err, err == nil && len(list.Items) > 0
	})
}

// awaitApproved waits until a CSR is approved.
func (c *testController) awaitApproved(csr string) {
	c.t.Helper()
	c.awaitDecision(csr, approver.Approved, "")
	if got := csrtest.Conditions(c.t, csr); got != approved {
		c.t.Fatalf("the CSR is %q", got)
	}
}

// checkPending checks that a CSR is neither approved nor denied.
func checkPending(t *testing.T, csr string) {
	t.Helper()
	if got := csrtest.Conditions(t, csr); got != "" {
		t.Errorf("%s is %q", csr, got)
	}
}

const approved = "Approved " + approver.ApprovedReason
