// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// ManualApproval describes one node that an administrator approves manually.
type ManualApproval struct {
	NodeName    string
	Fingerprint string         // of the client CSR's key, as printed by join; "" if the client CSR is already approved
	Addresses   []netip.Prefix // allowed in the serving CSR; none: the serving CSR is not approved
	Log         report.Log     // receives the reason for waiting
}

// checkFingerprint checks the format of a fingerprint.
func checkFingerprint(text string) error {
	if !regexp.MustCompile(`^SHA256:[0-9a-f]{64}$`).MatchString(text) {
		return fmt.Errorf("%q is not a fingerprint: expected the value that join prints, SHA256: and 64 "+
			"hexadecimal digits", truncate(text))
	}
	return nil
}

// ApproveManually approves the client CSR with the given key and then the node's serving CSR. It waits for
// each of them until ctx ends. It uses no enrollment, because the administrator has compared the
// fingerprint.
func (a *Approver) ApproveManually(ctx context.Context, node ManualApproval) error {
	if err := a.checkHostedCluster(ctx); err != nil {
		return a.explain(err)
	}
	var since metav1.Time // zero if no client key is given: the newest serving CSR counts
	if node.Fingerprint != "" {
		if err := checkFingerprint(node.Fingerprint); err != nil {
			return report.Fail(report.Usage, "journalctl -u hcp-node-agent # on the node; or read the output of join",
				"%w", err)
		}
		approveClient := func(all []*kube.CSR) (awaited string, err error) {
			since, awaited, err = a.approveClientManually(ctx, node, all)
			return awaited, err
		}
		signer := certificatesv1.KubeAPIServerClientKubeletSignerName
		if err := a.awaitApproval(ctx, node, signer, approveClient); err != nil {
			return err
		}
	}
	if len(node.Addresses) == 0 {
		return nil
	}
	err := a.awaitApproval(ctx, node, certificatesv1.KubeletServingSignerName, func(all []*kube.CSR) (string, error) {
		return a.approveServingManually(ctx, node, since, all)
	})
	if err == nil || node.Fingerprint == "" {
		return err
	}
	remedy := report.RemedyOf(err)
	if ctx.Err() != nil {
		remedy = report.Remedyf("# when kubelet has submitted the serving CSR; --timeout DURATION waits longer:\n"+
			"hcp-node-admin approve %s --fingerprint %s --address %s", node.NodeName, node.Fingerprint,
			strings.Join(enrollment.FormatAddresses(node.Addresses), ","))
	}
	return report.Fail(report.CodeOf(err), remedy, "the client CSR of %s is approved, its serving CSR is not: %w",
		node.NodeName, err)
}

// awaitApproval calls approve with the node's CSRs every two seconds until approve has approved one of
// them. Until then, approve returns what is awaited.
func (a *Approver) awaitApproval(
	ctx context.Context, node ManualApproval, signer string, approve func([]*kube.CSR) (awaited string, err error),
) error {
	for {
		all, err := a.nodeCSRs(ctx, signer, node.NodeName)
		awaited := ""
		if err == nil {
			awaited, err = approve(all)
		}
		switch {
		case ctx.Err() != nil:
			return waitError(ctx, awaited)
		case apierrors.IsConflict(err):
			continue // another client changed the CSR: read it again
		case err != nil:
			return a.explain(err)
		case awaited == "":
			return nil
		}
		node.Log.Wait(awaited, "")
		if wait.Sleep(ctx, 2*time.Second) != nil {
			return waitError(ctx, awaited)
		}
	}
}

func waitError(ctx context.Context, awaited string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return report.Fail(report.ApprovalMissing, "# use --timeout DURATION to wait longer",
			"timed out %s", cmp.Or(awaited, "waiting for the API server"))
	}
	return report.Fail(report.Interrupted, "", "interrupted: %w", ctx.Err())
}

// nodeCSRs lists the CSRs for a signer, page by page, and returns those of one node.
func (a *Approver) nodeCSRs(ctx context.Context, signer, node string) ([]*kube.CSR, error) {
	var all []*kube.CSR
	err := a.eachPage(ctx, signer, func(page []kube.CSR) {
		for n := range page {
			csr := &page[n]
			if csr.Spec.Username == nodePrefix+node || parseCSR(csr).node == node {
				all = append(all, csr.DeepCopy()) // a copy, so that the page can be freed
			}
		}
	})
	return all, err
}

// approvalReason returns the reason of the Approved condition, or "" if the CSR is still pending. It
// fails if the CSR was denied or has failed.
func approvalReason(csr *kube.CSR) (string, error) {
	reason := ""
	for _, condition := range csr.Status.Conditions {
		if condition.Type != certificatesv1.CertificateApproved {
			return "", report.Fail(report.ApprovalMissing, "# run join again on the node: it submits a new CSR",
				"CSR %s is already %s (%s)", DisplayName(csr.Name), condition.Type, condition.Reason)
		}
		reason = cmp.Or(condition.Reason, "no reason given")
	}
	return reason, nil
}

func (a *Approver) emitAlreadyApproved(csr *kube.CSR, d Decision) {
	by, _ := approvalReason(csr)
	d.Reason = "it was already approved (" + by + ")"
	a.emit(csr, d)
}

func (a *Approver) approveChecked(ctx context.Context, csr *kube.CSR, d Decision) error {
	message := "hcp-node-admin approve: " + d.Node + " manually, key " + d.Key
	if err := updateApproval(ctx, a.client, csr, message); err != nil {
		return err
	}
	a.emit(csr, d)
	return nil
}

// notApprovable returns the failure for a CSR that breaks a rule.
func notApprovable(csr *kube.CSR, err error) error {
	return report.Fail(report.ApprovalMissing, report.Remedy(commandFor("oc get csr ", csr.Name, " -o yaml")),
		"CSR %s must not be approved: %w", DisplayName(csr.Name), err)
}
