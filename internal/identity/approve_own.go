// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ApproveOwn approves the CSR called name with a kubeconfig of the hosted cluster. It fails if
// the CSR is not the node's own client or serving CSR by the rules of approver.ExpectedNode. The
// kubeconfig is not stored. ApproveOwn succeeds if the CSR is already approved.
func ApproveOwn(ctx context.Context, kubeconfig []byte, own approver.ExpectedNode, name string) error {
	config, err := kube.ParseKubeconfig(kubeconfig)
	if err != nil {
		return err
	}
	client, err := kube.NewClient(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.2, Steps: 5}
	err = retry.OnError(backoff, isRetryable, func() error { return approveOwn(ctx, client, own, name) })
	return explainOwn(err, config.Host, name)
}

// isRetryable reports whether a retry can succeed: another client changed the CSR, or the API server
// was busy or unreachable.
func isRetryable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err)
}

func approveOwn(ctx context.Context, client *kube.Client, own approver.ExpectedNode, name string) error {
	csr, err := client.CSRs().Get(ctx, name)
	if err != nil {
		return err
	}
	if err := own.CheckOwn(csr); err != nil {
		return fmt.Errorf("CSR %s must not be approved: %w", approver.DisplayName(name), err)
	}
	for _, condition := range csr.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateApproved:
			return nil
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			return fmt.Errorf("CSR %s is already %s (%s)", approver.DisplayName(name), condition.Type, condition.Reason)
		}
	}
	message := "hcp-node-agent join --approve-with on " + own.NodeName + " approved its own CSR"
	_, err = client.CSRs().Update(ctx, approver.WithApproval(csr, message), "approval") // a conflict if it has changed
	return err
}

// explainOwn returns err with a message and a remedy for the administrator who gave the kubeconfig.
func explainOwn(err error, server, name string) error {
	byHand := report.Remedy(approver.CommandFor("oc adm certificate approve ", name, ""))
	var refusal *approver.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return report.Fail(report.ApprovalMissing, report.Remedy(approver.CommandFor("oc get csr ", name, " -o yaml")),
			"%w", err)
	case apierrors.IsNotFound(err):
		return report.Fail(report.Usage, "# use the kubeconfig of the hosted cluster, not that of the management "+
			"cluster",
			"%s has no CSR %s: the approver's kubeconfig is for another cluster", server, approver.DisplayName(name))
	case apierrors.IsUnauthorized(err):
		return report.Fail(report.CredentialRefused, byHand, "%s rejects the approver's credential: %w", server, err)
	case apierrors.IsForbidden(err):
		return report.Fail(report.CredentialRefused, byHand,
			"the approver's credential lacks a permission (required: get certificatesigningrequests, update "+
				"certificatesigningrequests/approval, approve for both signers): %w", err)
	}
	return report.Fail(report.Failed, byHand, "approving CSR %s: %w", approver.DisplayName(name), err)
}
