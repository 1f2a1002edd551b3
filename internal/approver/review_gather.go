// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxReviews limits the pending CSRs of one node that are reviewed. Any user of a bootstrap kubeconfig can create any
// number.
const maxReviews = 10

// NodeOf returns the name of the node for which name is the name of a pending or decided CSR, or name itself if there
// is no such CSR.
func (a *Approver) NodeOf(ctx context.Context, name string) (string, error) {
	csr, err := a.client.CSRs().Find(ctx, name)
	if err != nil {
		return "", a.explain(fmt.Errorf("getting CSR %s: %w", DisplayName(name), err))
	}
	if csr == nil {
		return name, nil
	}
	concerns := ConcernsOf(csr)
	node := cmp.Or(concerns.Requestor, concerns.Node)
	if enrollment.CheckNodeName(node) != nil {
		return "", report.Fail(report.ApprovalMissing, report.Remedy(commandFor("oc get csr ", name, " -o yaml")),
			"CSR %s must not be approved: it is not for a node", DisplayName(name))
	}
	return node, nil
}

// Review returns the pending CSRs of a node with the reasons for and against their approval, sorted by time. It reads
// the NodeEnrollments of the node and of the Nodes with the same addresses, if the cluster serves them.
func (a *Approver) Review(ctx context.Context, node string) ([]Review, error) {
	if err := a.checkHostedCluster(ctx); err != nil {
		return nil, a.explain(err)
	}
	pending, err := a.pendingCSRs(ctx, node)
	if err != nil || len(pending) == 0 {
		return nil, a.explain(err)
	}
	get := &clusterFacts{connection: a.connection}
	reviews := make([]Review, 0, len(pending))
	for _, csr := range pending {
		facts := Facts{Now: time.Now(), CAHashes: a.caHashes, UsedKeys: map[string]string{}}
		// A missing permission to read Nodes leaves the facts empty.
		if facts, err = get.complete(ctx, csr, node, facts); err != nil && !apierrors.IsForbidden(err) {
			return nil, a.explain(err)
		}
		if csr.Annotations[enrollment.AnnotationCertificate] != "" {
			if facts, err = get.addClientCAs(ctx, facts); err != nil {
				return nil, a.explain(err)
			}
		}
		enrolled, err := a.enrollmentsFor(ctx, csr, node, facts)
		if err != nil {
			return nil, a.explain(err)
		}
		reviews = append(reviews, review(csr, node, enrolled, facts))
	}
	return reviews, nil
}

// pendingCSRs returns the newest pending CSRs of a node: client CSRs with its name, and serving CSRs that the node has
// submitted.
func (a *Approver) pendingCSRs(ctx context.Context, node string) ([]*kube.CSR, error) {
	var all []*kube.CSR
	for _, signer := range []string{
		certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName,
	} {
		options := metav1.ListOptions{FieldSelector: "spec.signerName=" + signer}
		err := a.eachPage(ctx, options, func(page []kube.CSR) {
			for n := range page {
				concerns := ConcernsOf(&page[n])
				if !IsDecided(&page[n]) && node == cmp.Or(concerns.Requestor, concerns.Node) {
					all = append(all, page[n].DeepCopy()) // a copy, so that the page can be freed
				}
			}
			slices.SortStableFunc(all, func(a, b *kube.CSR) int {
				return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
			})
			all = all[max(0, len(all)-maxReviews):]
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// enrollmentsFor returns the enrollments on which the decision on a CSR depends. It adds the keys with which their join
// tokens were used to the facts.
func (a *Approver) enrollmentsFor(
	ctx context.Context, csr *kube.CSR, node string, facts Facts,
) (enrollmentFacts, error) {
	names := []string{node}
	for _, address := range ConcernsOf(csr).Addresses {
		names = append(names, facts.NodesByAddress[address]...)
	}
	slices.Sort(names)
	var found enrollmentFacts
	var list []*enrollment.Enrollment
	for _, name := range slices.Compact(names) {
		object := &v1alpha1.NodeEnrollment{}
		err := a.client.GetJSON(ctx, object, "/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version,
			"nodeenrollments", name)
		switch {
		case apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err):
			return enrollmentFacts{Enrollments: NewEnrollments(nil), unreadable: errNotServed}, nil
		case apierrors.IsForbidden(err):
			return enrollmentFacts{Enrollments: NewEnrollments(nil), unreadable: err}, nil
		case apierrors.IsNotFound(err), err == nil && object.DeletionTimestamp != nil:
			continue
		case err != nil:
			return found, fmt.Errorf("getting the NodeEnrollment of %s: %w", name, err)
		}
		record, err := enrollment.FromObject(object)
		if err != nil {
			if name == node {
				found.unusable = err
			}
			continue
		}
		list = append(list, record)
		if object.Status.BoundKey != "" {
			facts.UsedKeys[record.ID] = object.Status.BoundKey
		}
	}
	found.Enrollments = NewEnrollments(list)
	return found, nil
}
