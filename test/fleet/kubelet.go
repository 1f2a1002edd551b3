// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// leaseInterval is the time between two renewals of a node's Lease. Kubelet renews it every 10 seconds; the control
// plane counts a node as lost after two minutes.
const leaseInterval = 30 * time.Second

// kubelet simulates the requests of a kubelet that matter to the controller.
type kubelet struct {
	conn    *kube.Conn
	name    string
	address netip.Addr
	dir     string // of the certificates
	csr     string // serving CSR
	stopped atomic.Bool
}

// retry repeats a request as kubelet does.
func (k *kubelet) retry(ctx context.Context, doing string, request func() error) error {
	return k.conn.Retry(ctx, report.Log{}, doing, request)
}

// start registers the Node, reports that it is Ready, and obtains the serving certificate. The Lease is renewed until
// ctx ends.
func (k *kubelet) start(ctx context.Context) error {
	labels := map[string]string{corev1.LabelHostname: k.name, corev1.LabelOSStable: "linux"}
	if err := k.retry(ctx, "creating the Node", func() error {
		_, err := k.conn.Client.Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: k.name, Labels: labels},
		}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	if err := k.setReady(ctx, corev1.ConditionTrue); err != nil {
		return err
	}
	if err := k.retry(ctx, "creating the Lease", func() error {
		_, err := k.conn.Client.Leases(corev1.NamespaceNodeLease).Create(ctx, k.lease(), metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	go k.renewLease(ctx)
	return k.obtainServingCertificate(ctx)
}

func (k *kubelet) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: k.name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &k.name, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}
}

// renewLease renews the Lease until ctx ends or the kubelet is stopped.
func (k *kubelet) renewLease(ctx context.Context) {
	for sleep(ctx, leaseInterval) == nil && !k.stopped.Load() {
		leases := k.conn.Client.Leases(corev1.NamespaceNodeLease)
		if current, err := leases.Get(ctx, k.name); err == nil {
			current.Spec.RenewTime = ptr.To(metav1.NowMicro())
			_, _ = leases.Update(ctx, current) // tried again later
		}
	}
}

// reasons are those of kubelet and, if it is silent, of the controller for the lifecycle of nodes.
var reasons = map[corev1.ConditionStatus]struct{ reason, message string }{
	corev1.ConditionTrue:    {"KubeletReady", "kubelet is posting ready status"},
	corev1.ConditionFalse:   {"KubeletNotReady", "container runtime is down"},
	corev1.ConditionUnknown: {"NodeStatusUnknown", "Kubelet stopped posting node status."},
}

// setReady reports the status of the node.
func (k *kubelet) setReady(ctx context.Context, ready corev1.ConditionStatus) error {
	now := metav1.Now()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"addresses": []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: k.address.String()}, {Type: corev1.NodeHostName, Address: k.name},
		},
		"conditions": []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: ready, Reason: reasons[ready].reason, Message: reasons[ready].message,
			LastHeartbeatTime: now, LastTransitionTime: now,
		}},
		"nodeInfo": map[string]string{"machineID": fmt.Sprintf("%032x", k.address.As4())},
	}})
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	return k.retry(ctx, "reporting the status", func() error {
		return k.conn.Client.RESTClient().Patch(types.StrategicMergePatchType).Resource("nodes").Name(k.name).
			SubResource("status").Body(patch).Do(ctx).Error()
	})
}

// obtainServingCertificate submits the serving CSR, and stores the certificate.
func (k *kubelet) obtainServingCertificate(ctx context.Context) error {
	csr, key, err := servingCSR(k.name, k.address)
	if err != nil {
		return err
	}
	if err := k.retry(ctx, "submitting the serving CSR", func() error {
		created, err := k.conn.Client.CSRs().Create(ctx, csr, metav1.CreateOptions{})
		if err == nil {
			csr = created
		}
		return err
	}); err != nil {
		return err
	}
	k.csr = csr.Name
	source := k.conn.Client.CSRs().Source("watching the serving CSR", "metadata.name="+csr.Name)
	return kube.Follow(ctx, k.conn, report.Log{}, source, time.Minute, func(found map[string]*kube.CSR) (bool, error) {
		current := found[csr.Name]
		if current == nil || len(current.Status.Certificate) == 0 {
			return false, nil
		}
		content := slices.Concat(current.Status.Certificate, key)
		return true, os.WriteFile(identity.ServingCertificatePath(k.dir), content, 0o600)
	})
}

// servingCSR returns the serving CSR of a node with an address, and its new key in PEM.
func servingCSR(name string, address netip.Addr) (csr *kube.CSR, keyPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	subject := nodeSubject(name)
	request, err := cert.MakeCSR(key, &subject, []string{name}, []net.IP{address.AsSlice()})
	if err != nil {
		return nil, nil, fmt.Errorf("creating a CSR: %w", err)
	}
	return &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeletServingSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}, keyPEM, nil
}

func nodeSubject(name string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
}
