// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/approve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Describe returns the description of a node. It fails if neither a NodeEnrollment nor a Node with the name exists.
// Nodes, CSRs and Events that the credential must not read are listed as unreadable.
func (c Client) Describe(ctx context.Context, name string) (*Description, error) {
	d := &Description{Name: name}
	object := &v1alpha1.NodeEnrollment{}
	isEnrolled, err := c.Find(ctx, client.ObjectKey{Name: name}, object)
	if err != nil {
		return nil, err
	}
	if isEnrolled {
		d.Enrollment, object.ManagedFields = object, nil
		object.SetGroupVersionKind(enrollmentKind())
		if _, err := enrollment.FromObject(object); err != nil {
			d.Invalid = text(err.Error())
		}
	}
	node := &corev1.Node{}
	exists, err := c.Find(ctx, client.ObjectKey{Name: name}, node)
	if err := d.permit(err, "nodes"); err != nil {
		return nil, err
	}
	if exists {
		d.Node, node.ManagedFields, node.Status.Images = node, nil, nil
		node.SetGroupVersionKind(nodeKind())
	}
	if !isEnrolled && !exists {
		return nil, report.Fail(report.Usage, "hcp-node-admin nodes # lists all", "neither a NodeEnrollment nor a Node %s "+
			"exists", name)
	}
	csrs, err := approve.Summaries(ctx, c, name, object.Spec.TokenID)
	if err := d.permit(err, "certificatesigningrequests"); err != nil {
		return nil, err
	}
	for _, csr := range csrs {
		d.CSRs = append(d.CSRs, cleanCSR(csr))
	}
	d.Events, err = c.events(ctx, name)
	if err := d.permit(err, "events"); err != nil {
		return nil, err
	}
	if d.isUpgrading() && isEnrolled {
		d.slot = c.slotOf(ctx, object.Spec.NodePool, name)
	}
	d.Next = d.next(time.Now())
	if problem := c.ControllerProblem(ctx, time.Now()); problem != "" {
		d.Next = append([]report.Problem{{Message: problem, Remedy: controllerRemedy}}, d.Next...)
	}
	return d, nil
}

// controllerRemedy is the remedy if no controller runs, usually in another cluster than that of describe.
const controllerRemedy = "# controller status prints the cause, with the kubeconfig of the management cluster"

// slotOf returns since when a node may be upgraded, nil if that is unknown.
func (c Client) slotOf(ctx context.Context, nodePool, node string) *time.Time {
	object := &v1alpha1.NodeRollout{}
	if exists, err := c.Find(ctx, client.ObjectKey{Name: nodePool}, object); err != nil || !exists {
		return nil
	}
	for _, slot := range object.Status.Slots {
		if slot.Node == node {
			return &slot.Given.Time
		}
	}
	return nil
}

// permit returns err unless it is a missing permission for a resource, which it records.
func (d *Description) permit(err error, resource string) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	d.Unreadable = append(d.Unreadable, resource)
	return nil
}

func cleanCSR(csr approver.CSRSummary) approver.CSRSummary {
	csr.Name, csr.Requestor, csr.Reason = text(csr.Name), text(csr.Requestor), text(csr.Reason)
	return csr
}

// maxEvents is the number of Events in a description.
const maxEvents = 50

// events returns the newest Events of a node, sorted by time.
func (c Client) events(ctx context.Context, node string) ([]Event, error) {
	return c.selectEvents(ctx, client.MatchingFields{"involvedObject.name": node}, func(event *corev1.Event) bool {
		return slices.Contains([]string{"Node", "NodeEnrollment"}, event.InvolvedObject.Kind)
	})
}

// Decisions returns the newest Events of the controller that are selected, sorted by time.
func (c Client) Decisions(ctx context.Context, isSelected func(*corev1.Event) bool) ([]Event, error) {
	return c.selectEvents(ctx, client.MatchingFields{"reportingComponent": v1alpha1.EventSource}, isSelected)
}

// selectEvents returns the newest selected Events, sorted by time. Those of cluster-scoped objects are in namespace
// default.
func (c Client) selectEvents(
	ctx context.Context, selector client.MatchingFields, isSelected func(*corev1.Event) bool,
) ([]Event, error) {
	var all []Event
	var page corev1.EventList
	for {
		err := c.List(ctx, &page, client.InNamespace(metav1.NamespaceDefault), client.Limit(pageSize), selector,
			client.Continue(page.Continue))
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if event := &page.Items[i]; isSelected(event) {
				all = append(all, describeEvent(event))
			}
		}
		slices.SortStableFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) })
		all = all[max(0, len(all)-maxEvents):]
		if page.Continue == "" {
			return all, nil
		}
	}
}

func describeEvent(event *corev1.Event) Event {
	count, last := max(1, int(event.Count)), event.LastTimestamp.Time
	if series := event.Series; series != nil {
		count, last = int(series.Count), series.LastObservedTime.Time
	}
	for _, other := range []time.Time{event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time} {
		if last.IsZero() {
			last = other
		}
	}
	return Event{
		Time: last.UTC(), Type: text(event.Type), Object: event.InvolvedObject.Kind, Reason: text(event.Reason),
		Message: text(event.Message), Count: count, Name: text(event.InvolvedObject.Name),
		Source: text(cmp.Or(event.ReportingController, event.Source.Component)),
	}
}

// text returns a text of another party for a description.
func text(of string) string { return Clean(of, maxTextLength) }
