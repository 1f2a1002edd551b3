// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// CSRs are listed in large pages unless a page exceeds maxPageBytes, which 500 CSRs of kubelets
// do not. Then the pages are so small that the number of CSRs limits their size. A page is in
// memory twice while it is decoded, and a CSR can have 1.5 MiB.
const (
	csrPageSize      = 500
	csrPageSizeSmall = 10
	maxPageBytes     = 4 << 20
)

// eachKubeletPage passes the CSRs for the client and the serving certificates of kubelets to do, page by page.
func eachKubeletPage(ctx context.Context, c client.Reader, do func([]kube.CSR)) error {
	if err := eachPage(ctx, c, certificatesv1.KubeAPIServerClientKubeletSignerName, do); err != nil {
		return err
	}
	return eachPage(ctx, c, certificatesv1.KubeletServingSignerName, do)
}

// eachPage passes the CSRs for a signer to do, page by page.
func eachPage(ctx context.Context, c client.Reader, signer string, do func([]kube.CSR)) error {
	limit, next := csrPageSize, ""
	for {
		limited := ctx
		if limit > csrPageSizeSmall {
			limited = cluster.LimitBody(ctx, maxPageBytes)
		}
		var page certificatesv1.CertificateSigningRequestList
		err := c.List(limited, &page, client.MatchingFields{"spec.signerName": signer}, client.Limit(limit),
			client.Continue(next))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			limit = csrPageSizeSmall
			continue
		}
		if err != nil {
			return err
		}
		do(page.Items)
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// maxSummaries limits the CSRs of one node that are kept. Any user of a bootstrap kubeconfig can create any number.
const maxSummaries = 50

// Summaries returns the newest CSRs that concern a node: those with its name, those that it has submitted, and those
// with the ID of its join token. They are sorted by time, the oldest first.
func Summaries(ctx context.Context, c client.Reader, node, tokenID string) ([]approver.CSRSummary, error) {
	var all []approver.CSRSummary
	err := eachKubeletPage(ctx, c, func(page []kube.CSR) {
		for n := range page {
			content := approver.ParseCSR(&page[n])
			if content.Node == node || content.Requestor == node || tokenID != "" && content.TokenID == tokenID {
				all = append(all, approver.Summarize(&page[n]))
			}
		}
		slices.SortFunc(all, func(a, b approver.CSRSummary) int {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
		})
		all = all[max(0, len(all)-maxSummaries):]
	})
	return all, err
}

// PendingNames returns the names of the pending CSRs that can be pasted into a shell, and of their nodes, sorted.
func PendingNames(ctx context.Context, c client.Reader) ([]string, error) {
	names := sets.New[string]()
	err := eachKubeletPage(ctx, c, func(page []kube.CSR) {
		for n := range page {
			csr := &page[n]
			if !approver.IsDecided(csr) && approver.DisplayName(csr.Name) == csr.Name {
				names.Insert(csr.Name)
				names.Insert(approver.ParseCSR(csr).EnrolledNodes()...)
			}
		}
	})
	return sets.List(names), err
}
