// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// awaitReadyNode waits until the node is Ready since this boot and schedulable.
func awaitReadyNode(ctx context.Context, t *testing.T) {
	t.Helper()
	boot, err := environment.Machine.Output(ctx, "cat /proc/sys/kernel/random/boot_id")
	must(t, err)
	waittest.Until(t, "waiting for the Node to be Ready in boot "+boot, func() (any, bool) {
		node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
		if err != nil {
			return err, false
		}
		seen := fmt.Sprintf("boot %s, taints %v, conditions %v", node.Status.NodeInfo.BootID, node.Spec.Taints,
			node.Status.Conditions)
		return seen, node.Status.NodeInfo.BootID == boot && len(node.Spec.Taints) == 0 && kube.IsReady(node)
	})
}

// decideCSRs approves or denies every pending CSR, as an administrator does.
func decideCSRs(ctx context.Context, t *testing.T, decision certificatesv1.RequestConditionType) int {
	t.Helper()
	csrs := environment.Client.CertificatesV1().CertificateSigningRequests()
	list, err := csrs.List(ctx, metav1.ListOptions{})
	must(t, err)
	decided := 0
	for _, csr := range list.Items {
		if len(csr.Status.Conditions) > 0 {
			continue
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: decision, Status: corev1.ConditionTrue, Reason: "Test", Message: "decided by the test",
		})
		_, err := csrs.UpdateApproval(ctx, csr.Name, &csr, metav1.UpdateOptions{})
		must(t, err)
		decided++
	}
	return decided
}

// checkNoSecrets checks that the token and the pull secret are not readable by others: in the journal,
// in command lines, or in files that are not restricted to root.
func checkNoSecrets(ctx context.Context, t *testing.T) {
	t.Helper()
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	var document struct {
		Ignition struct {
			Config struct {
				Merge []struct {
					HTTPHeaders []struct{ Name, Value string }
				}
			}
		}
	}
	must(t, json.Unmarshal(userData, &document))
	var token string
	for _, header := range document.Ignition.Config.Merge[0].HTTPHeaders {
		if header.Name == "Authorization" {
			token = strings.TrimPrefix(header.Value, "Bearer ")
		}
	}
	if token == "" {
		t.Fatal("the user data contains no token")
	}
	must(t, environment.Machine.Put(ctx, "/root/needle", strings.NewReader(token), 0o600))
	found, err := environment.Machine.Output(ctx, `
		journalctl -b --no-pager | grep -cFf /root/needle
		find /etc /var /run -xdev -type f -perm /044 -size -10M -exec grep -lFf /root/needle {} + 2>/dev/null
		ls /var/lib/hcp-node-agent/user-data.ign 2>/dev/null
		ls /etc/kubernetes/kubeconfig 2>/dev/null
		grep -rl client-key-data /var/lib/hcp-node-agent
		find /etc/mcs-machine-config-content.json /var/lib/kubelet/config.json /var/lib/hcp-node-agent -type f -perm /077
		rm -f /root/needle; true`)
	must(t, err)
	if found != "0" {
		t.Errorf("files and journal entries with readable secrets:\n%s", found)
	}
}
