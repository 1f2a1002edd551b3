// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package csrtest

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// SubmitHuge submits a CSR of nearly the maximum size that the API server stores, with the rights of the bootstrap
// kubeconfig. Its size is in the request, or, with annotations, in those.
func SubmitHuge(t *testing.T, node string, annotations map[string]string) string {
	t.Helper()
	request := encode(t, certtest.NewKey(t), Subject(node), nil)
	if annotations == nil {
		request = append(bytes.Repeat([]byte("padding\n"), 1_400_000/8), request...)
	}
	name := create(t, Bootstrapper(t), &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "huge-", Annotations: annotations},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    request,
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	})
	t.Cleanup(func() {
		if err := csrs(t).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	})
	return name
}

// PeakMemory returns the highest memory use, in MiB, while do runs. The memory limit is that of the systemd unit and of
// the Deployment.
func PeakMemory(do func()) uint64 {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(160 << 20))
	debug.FreeOSMemory()
	ended, most := make(chan struct{}), make(chan uint64)
	go func() {
		var memory runtime.MemStats
		var highest uint64
		ticker := time.NewTicker(2 * time.Millisecond)
		defer ticker.Stop()
		for {
			runtime.ReadMemStats(&memory)
			highest = max(highest, memory.Sys-memory.HeapReleased)
			select {
			case <-ended:
				most <- highest >> 20
				return
			case <-ticker.C:
			}
		}
	}()
	do()
	close(ended)
	return <-most
}
