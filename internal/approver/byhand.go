package approver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ByHand is one node that a person approves.
type ByHand struct {
	NodeName    string
	Fingerprint string       // of its client CSR's key, as join shows it; "" when that one is approved already
	Addresses   []netip.Addr // that its serving CSR may name; none: that one is not looked at
	Log         report.Log   // takes what is waited for
}

// checkFingerprint tells whether a text can be a fingerprint at all.
func checkFingerprint(text string) error {
	if !regexp.MustCompile(`^SHA256:[0-9a-f]{64}$`).MatchString(text) {
		return fmt.Errorf("%q is not a fingerprint: join shows it, SHA256: and 64 hexadecimal digits", shorten(text))
	}
	return nil
}

// ByHand approves the client CSR with one key, and then the node's serving CSR;
// it waits for each, and ctx bounds that. No claim is needed, and none is looked
// at: the person has compared.
func (a *Approver) ByHand(ctx context.Context, node ByHand) error {
	if node.Fingerprint != "" {
		if err := checkFingerprint(node.Fingerprint); err != nil {
			return report.Fail(report.Usage, "journalctl -u hcp-node-agent   or the terminal of join, on the node", "%w", err)
		}
		if err := a.await(ctx, node, certificatesv1.KubeAPIServerClientKubeletSignerName, a.clientByHand); err != nil {
			return err
		}
	}
	if len(node.Addresses) == 0 {
		return nil
	}
	return a.await(ctx, node, certificatesv1.KubeletServingSignerName, a.servingByHand)
}

// await looks every two seconds until a CSR of the signer was approved; choose
// does it, or gives the reason why it is waited on.
func (a *Approver) await(ctx context.Context, node ByHand, signer string, choose func(context.Context, ByHand, []*certificatesv1.CertificateSigningRequest) (why string, err error)) error {
	for {
		all, err := a.ofSigner(ctx, signer)
		why := ""
		if err == nil {
			why, err = choose(ctx, node, all)
		}
		switch {
		case ctx.Err() != nil:
			return waitEnded(ctx, why)
		case apierrors.IsConflict(err):
			continue // somebody wrote it meanwhile: look what became of it
		case err != nil:
			return a.explain(err)
		case why == "":
			return nil
		}
		node.Log.Wait(why, "")
		if pause(ctx, 2*time.Second); ctx.Err() != nil {
			return waitEnded(ctx, why)
		}
	}
}

func waitEnded(ctx context.Context, why string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return report.Fail(report.ApprovalMissing, "--timeout DURATION waits longer", "nothing was approved: %s", why)
	}
	return report.Fail(report.Interrupted, "", "interrupted: %w", ctx.Err())
}

// ofSigner lists the CSRs for a signer, page by page.
func (a *Approver) ofSigner(ctx context.Context, signer string) ([]*certificatesv1.CertificateSigningRequest, error) {
	options := metav1.ListOptions{Limit: pageSize, FieldSelector: "spec.signerName=" + signer}
	var all []*certificatesv1.CertificateSigningRequest
	for {
		limited, cancel := bounded(ctx)
		page, err := a.client.CertificatesV1().CertificateSigningRequests().List(limited, options)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("listing CSRs: %w", err)
		}
		for n := range page.Items {
			all = append(all, &page.Items[n])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

func (a *Approver) clientByHand(ctx context.Context, node ByHand, all []*certificatesv1.CertificateSigningRequest) (string, error) {
	var others []string
	for _, csr := range all {
		in := lookInto(csr)
		if in.node != node.NodeName {
			continue
		}
		if in.fingerprint != node.Fingerprint {
			if !answered(csr) {
				others = append(others, in.fingerprint)
			}
			continue
		}
		d := Decision{Verdict: Approve, Node: node.NodeName, Key: in.fingerprint}
		if done, err := a.asAnswered(csr, d); done || err != nil {
			return "", err
		}
		if err := (Want{NodeName: node.NodeName, PublicKey: in.key}).Client(csr); err != nil {
			return "", report.Fail(report.ApprovalMissing, "oc get csr "+csr.Name+" -o yaml", "the CSR %s is not one to approve: %w", csr.Name, err)
		}
		exists, err := nodeExists(ctx, a.connection, node.NodeName)
		if err != nil {
			return "", err
		}
		if exists {
			return "", report.Fail(report.ApprovalMissing, "oc delete node "+node.NodeName+"   if its machine is gone or made anew; then run this again",
				"a Node %s is in the cluster already, so the CSR %s is not approved", node.NodeName, csr.Name)
		}
		return "", a.approveByHand(ctx, csr, d)
	}
	slices.Sort(others)
	why := fmt.Sprintf("there is no client CSR of %s with the key %s", node.NodeName, node.Fingerprint)
	if len(others) > 0 {
		why += "; those that wait for this name have the keys " + strings.Join(slices.Compact(others), " and ")
	}
	return why, nil
}

func (a *Approver) servingByHand(ctx context.Context, node ByHand, all []*certificatesv1.CertificateSigningRequest) (string, error) {
	var newest *certificatesv1.CertificateSigningRequest
	for _, csr := range all {
		if csr.Spec.Username == nodePrefix+node.NodeName && (newest == nil || newest.CreationTimestamp.Before(&csr.CreationTimestamp)) {
			newest = csr
		}
	}
	if newest == nil {
		return "the node " + node.NodeName + " has not asked for its serving certificate yet; its kubelet does when its Node has addresses", nil
	}
	in := lookInto(newest)
	d := Decision{Verdict: Approve, Node: node.NodeName, Key: in.fingerprint}
	if done, err := a.asAnswered(newest, d); done || err != nil {
		return "", err
	}
	if err := (Want{NodeName: node.NodeName, Addresses: node.Addresses}).Serving(newest); err != nil {
		return "", report.Fail(report.ApprovalMissing, "oc get csr "+newest.Name+" -o yaml", "the CSR %s is not one to approve: %w", newest.Name, err)
	}
	nodesOf, err := nodesOfAddresses(ctx, a.connection)
	if err != nil {
		return "", err
	}
	if taken := in.takenFrom(node.NodeName, nodesOf); taken != "" {
		return "", report.Fail(report.ApprovalMissing, "oc get nodes -o wide", "the CSR %s is not one to approve: %s", newest.Name, taken)
	}
	return "", a.approveByHand(ctx, newest, d)
}

// asAnswered tells whether a CSR is approved already.
func (a *Approver) asAnswered(csr *certificatesv1.CertificateSigningRequest, d Decision) (bool, error) {
	approved := ""
	for _, condition := range csr.Status.Conditions {
		if condition.Type != certificatesv1.CertificateApproved {
			return false, report.Fail(report.ApprovalMissing, "run join again on the node: it asks anew", "the CSR %s is %s already (%s)", csr.Name, condition.Type, condition.Reason)
		}
		approved = condition.Reason
	}
	if approved == "" {
		return false, nil
	}
	d.Reason = "it was approved already (" + approved + ")"
	a.tellOf(csr, d)
	return true, nil
}

func (a *Approver) approveByHand(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, d Decision) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := setApproved(ctx, a.client, csr, "hcp-node-agent approve: "+d.Node+" by hand, key "+d.Key); err != nil {
		return err
	}
	a.tellOf(csr, d)
	return nil
}
