// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Leader is the replica of the controller that works, by its Lease in the hosted cluster.
type Leader struct {
	Holder  string     `json:"holder,omitempty" doc:"identity of the replica that holds the Lease"`
	Renewed *time.Time `json:"renewed,omitempty" doc:"last renewal of the Lease"`
	Version string     `json:"version,omitempty" doc:"version of the replica"`
	Problem string     `json:"problem,omitempty" doc:"why no controller works; absent if one does"`
}

// maxRenewalAge is the age of the last renewal after which a leader no longer works. It renews every 2 seconds; the
// clocks of its host and of this one can differ.
const maxRenewalAge = 2 * time.Minute

// Leader reads the Lease of the controller.
func (c Client) Leader(ctx context.Context, now time.Time) (Leader, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: v1alpha1.Namespace, Name: v1alpha1.ControllerName}
	exists, err := c.Find(ctx, key, lease)
	if err != nil {
		return Leader{}, err
	}
	l := Leader{Holder: ptr.Deref(lease.Spec.HolderIdentity, ""), Version: lease.Labels[v1alpha1.LabelVersion]}
	if renewed := lease.Spec.RenewTime; renewed != nil {
		l.Renewed = ptr.To(renewed.UTC())
	}
	switch {
	case !exists:
		l.Problem = fmt.Sprintf("no controller runs: its Lease %s does not exist in the hosted cluster", key)
	case l.Holder == "" || l.Renewed == nil:
		l.Problem = fmt.Sprintf("no controller runs: no replica holds the Lease %s of the hosted cluster", key)
	case now.Sub(*l.Renewed) > maxRenewalAge:
		l.Problem = fmt.Sprintf("no controller runs: its Lease %s in the hosted cluster was last renewed at %s", key,
			report.Timestamp(*l.Renewed))
	}
	return l, nil
}

// ControllerProblem returns that no controller runs, with its effect, "" if one does or the Lease cannot be read.
func (c Client) ControllerProblem(ctx context.Context, now time.Time) string {
	leader, err := c.Leader(ctx, now)
	if err != nil || leader.Problem == "" {
		return ""
	}
	return leader.Problem + "; phases are not updated, and no CSR is approved"
}
