// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// submitHuge submits a CSR of the maximum size that the API server stores, with the rights of the
// bootstrap kubeconfig.
func submitHuge(t *testing.T, node string) string {
	t.Helper()
	subject := nodeSubject(node)
	request, err := cert.MakeCSR(certtest.NewKey(t), &subject, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	csrs := bootstrapClient(t).CertificatesV1().CertificateSigningRequests()
	csr, err := csrs.Create(t.Context(), &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "huge-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    append(bytes.Repeat([]byte("padding\n"), 1_400_000/8), request...),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := csr.Name // keeps the name alone in memory
	t.Cleanup(func() {
		if err := adminClient(t).CertificatesV1().CertificateSigningRequests().Delete(context.Background(), name,
			metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	})
	return name
}

// peakMemory returns the highest memory use, in MiB, while do runs. The memory limit is that of the
// systemd unit and of the Deployment.
func peakMemory(do func()) uint64 {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(160 << 20))
	debug.FreeOSMemory()
	ended, most := make(chan struct{}), make(chan uint64)
	go func() {
		var memory runtime.MemStats
		var highest uint64
		for {
			runtime.ReadMemStats(&memory)
			highest = max(highest, memory.Sys-memory.HeapReleased)
			select {
			case <-ended:
				most <- highest >> 20
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	do()
	close(ended)
	return <-most
}

// Many CSRs of the maximum size must not exceed the memory limit of the unit, 256 MiB, neither in
// a list nor in a watch.
func TestControlPlaneHugeRequestsStayWithinMemoryLimit(t *testing.T) {
	const count = 80
	s := newTestCluster(t)
	var last string
	for range count {
		last = submitHuge(t, "huge")
	}
	s.newToken("huge", clusterCA(t), 0)
	a := s.newApprover(fleetKubeconfig)
	a.loadEnrollments()
	version := ""
	listing := peakMemory(func() {
		var err error
		if version, err = a.resync(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if recorded := s.lastEvent(last); recorded.Outcome != Ignored || recorded.Node != "" ||
		len(recorded.Reason) > maxReasonLength {
		t.Errorf("the event is %+v", recorded)
	}
	for range count / 2 {
		last = submitHuge(t, "huge")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	coming := peakMemory(func() {
		go func() { a.watchChanges(ctx, version); close(done) }()
		eventually(t, "the event of the last CSR", func() bool { return s.lastEvent(last).CSR != "" })
	})
	stop()
	<-done
	t.Logf("%d MiB during the list, %d MiB during the watch", listing, coming)
	if max(listing, coming) > 180 {
		t.Errorf("memory use: %d MiB during the list, %d MiB during the watch", listing, coming)
	}
}
