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

// tally is what came of the approvals of one look at all CSRs.
type tally struct {
	tried  int
	failed []error // one for each that the API server did not let through
}

// forbidden gives an error when every approval was forbidden: then it can be
// that it is not those CSRs, but that the credential lacks the right.
func (t tally) forbidden() error {
	if t.tried == 0 || len(t.failed) < t.tried || slices.ContainsFunc(t.failed, func(err error) bool { return !apierrors.IsForbidden(err) }) {
		return nil
	}
	// Always the same one, so that it is not told again as another.
	return slices.MinFunc(t.failed, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
}

// err sums up those that failed; nil for none.
func (t tally) err() error {
	const most = 3 // each was told already
	switch count := len(t.failed); {
	case count == 0:
		return nil
	case count <= most:
		return errors.Join(t.failed...)
	default:
		return fmt.Errorf("%w\nand %d more", errors.Join(t.failed[:most]...), count-most)
	}
}

// gone tells errors that the next CSR would meet as well: there is no answer, or
// one that is about the server or the credential.
func gone(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsUnauthorized(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

// mayApprove asks whether the credential may approve for any of the two signers.
// Rules of the cluster's own forbid a single CSR in the same words.
func (a *Approver) mayApprove(ctx context.Context) (bool, error) {
	update := authorizationv1.ResourceAttributes{Group: certificatesv1.GroupName, Resource: "certificatesigningrequests", Subresource: "approval", Verb: "update"}
	if may, err := a.may(ctx, update); !may || err != nil {
		return false, err
	}
	for _, signer := range []string{certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName, "kubernetes.io/*"} {
		approve := authorizationv1.ResourceAttributes{Group: certificatesv1.GroupName, Resource: "signers", Name: signer, Verb: "approve"}
		if may, err := a.may(ctx, approve); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

func (a *Approver) may(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	may, err := a.client.Allowed(ctx, what)
	if err != nil {
		return false, fmt.Errorf("asking for the credential's rights: %w", err)
	}
	return may, nil
}

// barred gives an error when nothing was approved because the credential may
// approve nothing at all.
func (a *Approver) barred(ctx context.Context) error {
	err := a.tally.forbidden()
	if err == nil {
		return nil
	}
	may, unknown := a.mayApprove(ctx)
	if may {
		return nil
	}
	return errors.Join(err, unknown)
}
