// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

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

// eachPage passes the CSRs that options select to do, page by page.
func (c connection) eachPage(ctx context.Context, options metav1.ListOptions, do func([]kube.CSR)) error {
	options.Limit = csrPageSize
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
