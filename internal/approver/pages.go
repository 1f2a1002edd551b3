// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
func (c connection) eachKubeletPage(ctx context.Context, do func([]kube.CSR)) error {
	if err := c.eachPage(ctx, certificatesv1.KubeAPIServerClientKubeletSignerName, do); err != nil {
		return err
	}
	return c.eachPage(ctx, certificatesv1.KubeletServingSignerName, do)
}

// eachPage passes the CSRs for a signer to do, page by page.
func (c connection) eachPage(ctx context.Context, signer string, do func([]kube.CSR)) error {
	options := metav1.ListOptions{FieldSelector: "spec.signerName=" + signer, Limit: csrPageSize}
	for {
		limited := ctx
		if options.Limit > csrPageSizeSmall {
			limited = kube.LimitBody(ctx, maxPageBytes)
		}
		page, err := c.client.CSRs().List(limited, options)
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			options.Limit = csrPageSizeSmall
			continue
		}
		if err != nil {
			return fmt.Errorf("listing CSRs: %w", err)
		}
		do(page.Items)
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}
