// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// approvalStats counts the approvals of one resync.
type approvalStats struct {
	attempted int
	failures  []error // one for each approval that the API server rejected
}

// allForbidden returns an error if every approval was forbidden. The cause can then be a missing
// right of the credential instead of the CSRs.
func (s approvalStats) allForbidden() error {
	isOther := func(err error) bool { return !apierrors.IsForbidden(err) }
	if s.attempted == 0 || len(s.failures) < s.attempted || slices.ContainsFunc(s.failures, isOther) {
		return nil
	}
	// The choice is deterministic, so that the same error is not reported again as a new one.
	return slices.MinFunc(s.failures, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
}

// combinedError returns the combined errors, or nil if there are none.
func (s approvalStats) combinedError() error {
	const most = 3 // each was already reported
	switch count := len(s.failures); {
	case count == 0:
		return nil
	case count <= most:
		return errors.Join(s.failures...)
	default:
		return fmt.Errorf("%w\nand %d more", errors.Join(s.failures[:most]...), count-most)
	}
}

// affectsAllCSRs reports whether the next CSR would fail with the same error. This is the case if the API
// server does not respond, or if the error is about the server or the credential.
func affectsAllCSRs(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsUnauthorized(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

// canApprove reports whether the credential can approve CSRs for at least one of the two signers.
// The error for a missing right does not differ from that of an admission policy that forbids one
// CSR.
func (a *Approver) canApprove(ctx context.Context) (bool, error) {
	right := authorizationv1.ResourceAttributes{
		Group: certificatesv1.GroupName, Resource: "certificatesigningrequests", Subresource: "approval", Verb: "update",
	}
	if may, err := a.client.Allowed(ctx, right); !may || err != nil {
		return false, err
	}
	for _, signer := range []string{
		certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName, "kubernetes.io/*",
	} {
		right = authorizationv1.ResourceAttributes{
			Group: certificatesv1.GroupName, Resource: "signers", Name: signer, Verb: "approve",
		}
		if may, err := a.client.Allowed(ctx, right); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

// checkCanApprove returns an error if nothing was approved because the credential has no right to approve
// any CSR.
func (a *Approver) checkCanApprove(ctx context.Context) error {
	err := a.stats.allForbidden()
	if err == nil {
		return nil
	}
	may, unknown := a.canApprove(ctx)
	switch {
	case may:
		return nil
	case unknown != nil:
		return errors.Join(err, fmt.Errorf("checking the credential's permissions: %w", unknown))
	}
	return err
}
