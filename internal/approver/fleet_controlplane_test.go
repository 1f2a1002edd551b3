// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// fleetKubeconfig has exactly the rights of deploy/approver-rbac.yaml.
var fleetKubeconfig []byte

// grantRights applies deploy/approver-rbac.yaml and obtains the credential of its service
// account.
func grantRights(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubetest.Plane.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := rights.Grant(ctx, client, "approver-rbac.yaml"); err != nil {
		return err
	}
	fleetKubeconfig, err = rights.NewKubeconfig(ctx, client, rights.Approver, kubetest.Plane.Kubeconfig,
		"https://"+kubetest.Plane.APIForward)
	return err
}

// testCluster is a directory of enrollments and the events that its approvers have emitted.
type testCluster struct {
	t             *testing.T
	enrollmentDir string
	mu            sync.Mutex
	events        []Event
}

func newTestCluster(t *testing.T) *testCluster { return &testCluster{t: t, enrollmentDir: t.TempDir()} }

func (s *testCluster) allEvents() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// lastEvent returns the last event about a CSR.
func (s *testCluster) lastEvent(csr string) Event {
	var last Event
	for _, recorded := range s.allEvents() {
		if recorded.CSR == csr {
			last = recorded
		}
	}
	return last
}

func (s *testCluster) newApprover(kubeconfig []byte) *Approver {
	s.t.Helper()
	a, err := Open(Options{
		Kubeconfig: kubeconfig, EnrollmentDir: s.enrollmentDir, Namespace: DefaultNamespace, ConfigMap: DefaultConfigMap,
		OnEvent: func(recorded Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, recorded)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// runOnce runs a new approver over all CSRs, as after a restart.
func (s *testCluster) runOnce() {
	s.t.Helper()
	if err := s.newApprover(fleetKubeconfig).Once(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// newToken creates a join token that was issued some time ago, and stores its enrollment in the
// approvers' directory.
func (s *testCluster) newToken(name string, ca []byte, ago time.Duration, addresses ...string) *enrollment.Token {
	s.t.Helper()
	desired := enrollment.Options{NodeName: name, ClusterCA: ca, Lifetime: time.Hour}
	for _, address := range addresses {
		desired.Addresses = append(desired.Addresses, prefix(s.t, address))
	}
	made, record, err := enrollment.New(desired, time.Now().Add(-ago))
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := record.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.enrollmentDir, name+"-"+record.ID+enrollment.EnrollmentSuffix), content,
		0o600); err != nil {
		s.t.Fatal(err)
	}
	return made
}

// usageRecordsVersion returns the resource version of the ConfigMap with the usage records.
func usageRecordsResourceVersion(t *testing.T) string {
	t.Helper()
	object, err := kubetest.AdminClient(t).CoreV1().ConfigMaps(
		DefaultNamespace,
	).Get(
		t.Context(),
		DefaultConfigMap,
		metav1.GetOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	return object.ResourceVersion
}

func normalizeSpaces(sentence string) string { return strings.Join(strings.Fields(sentence), " ") }
