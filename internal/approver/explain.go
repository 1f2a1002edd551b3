// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const rightsRemedy = "oc --kubeconfig hosted.kubeconfig apply -f deploy/approver-rbac.yaml # hosted.kubeconfig is " +
	"that of the hosted cluster's administrator; then use the credential of its service account"

// explain returns err with a message and a remedy for the administrator of an approver.
func (a *Approver) explain(err error) error {
	var recorded *report.Failure
	switch {
	case err == nil, errors.As(err, &recorded):
		return err
	case apierrors.IsUnauthorized(err):
		return report.Fail(report.CredentialRefused, rightsRemedy, "%s rejects the approver's credential: %w", a.server, err)
	case apierrors.IsForbidden(err):
		return report.Fail(report.CredentialRefused, rightsRemedy, "the approver's credential lacks a permission "+
			"on %s: %w", a.server, err)
	}
	return report.Fail(report.Failed, report.Remedy("curl -k "+a.server+"/livez"), "%s: %w", a.server, err)
}

// isPermanent reports whether a retry fails with the same error.
func isPermanent(err error) bool { return report.CodeOf(err) != report.Failed }
