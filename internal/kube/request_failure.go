// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Remedies are those for the failed request of an administrator.
type Remedies struct {
	Credential report.Remedy // HTTP 401
	Permission report.Remedy // HTTP 403
	Other      report.Remedy // any other response
}

// RequestFailure returns the error of an administrator's request with its exit code and remedy, or nil if err is nil.
// doing describes the request, as in "getting nodes of SERVER".
func (c *Conn) RequestFailure(ctx context.Context, err error, doing string, remedies Remedies) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return report.Fail(report.Interrupted, "", "%s: interrupted: %w", doing, err)
	case !errors.As(err, &status):
		return c.Explain(ctx, err).Failure(doing)
	case apierrors.IsUnauthorized(err):
		return report.Fail(report.CredentialRefused, remedies.Credential,
			"%s: the credential of the kubeconfig is rejected (HTTP 401)", doing)
	case apierrors.IsForbidden(err):
		return report.Fail(report.CredentialRefused, remedies.Permission, "%s: no permission: %w", doing, err)
	}
	return report.Fail(report.Failed, remedies.Other, "%s: %w", doing, err)
}
