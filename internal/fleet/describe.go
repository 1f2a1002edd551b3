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

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Describe returns the description of a node. It fails if neither a NodeEnrollment nor a Node with the name exists.
// Nodes, CSRs and Events that the credential must not read are listed as unreadable.
func (c Client) Describe(ctx context.Context, name string) (*Description, error) {
	d := &Description{Name: name}
	object := &v1alpha1.NodeEnrollment{}
	isEnrolled, err := c.find(ctx, nodeEnrollments(), name, object)
	if err != nil {
		return nil, err
	}
	if isEnrolled {
		d.Enrollment = describeEnrollment(object)
	}
	node := &corev1.Node{}
	exists, err := c.find(ctx, nodes(), name, node)
	if err := d.permit(err, "nodes"); err != nil {
		return nil, err
	}
	if exists {
		d.Node, d.Agent = describeNode(node), describeAgent(node.Annotations)
	}
	if !isEnrolled && !exists {
		return nil, report.Fail(report.Usage, "hcp-node-admin nodes # lists all", "neither a NodeEnrollment nor a Node %s "+
			"exists", name)
	}
	csrs, err := approver.SummarizeCSRs(ctx, c.Conn.Client, name, object.Spec.TokenID)
	if err != nil {
		err = c.explain(ctx, err, "list", kind{Name: "CSR", resource: csrResource, path: []string{csrResource}})
	}
	if err := d.permit(err, csrResource); err != nil {
		return nil, err
	}
	for _, csr := range csrs {
		d.CSRs = append(d.CSRs, cleanCSR(csr))
	}
	d.Events, err = c.events(ctx, name)
	if err := d.permit(err, "events"); err != nil {
		return nil, err
	}
	d.Next = d.next(time.Now())
	return d, nil
}

const csrResource = "certificatesigningrequests"

// permit returns err unless it is a missing permission for a resource, which it records.
func (d *Description) permit(err error, resource string) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	d.Unreadable = append(d.Unreadable, resource)
	return nil
}

func describeEnrollment(object *v1alpha1.NodeEnrollment) *Enrollment {
	spec, status := object.Spec, object.Status
	e := &Enrollment{
		Created: object.CreationTimestamp.UTC(), IsDeleted: object.DeletionTimestamp != nil,
		TokenID: text(spec.TokenID), TokenExpires: spec.Expires.UTC(), NodePool: text(spec.NodePool),
		Addresses: texts(spec.Addresses), Reinstall: Reinstall(spec.Reinstall),
		ClientCSR: text(status.ClientCSR), ServingCSR: text(status.ServingCSR),
		Phase: Phase(status.Phase), Reason: text(status.Reason),
		Release: text(status.Release), Config: text(status.ConfigHash), HostClass: text(status.HostClass),
		MachineID:          text(status.MachineID),
		CertificateExpires: timeOf(status.CertificateExpires), LastReport: timeOf(status.LastReport),
	}
	if used := spec.UsedBy; used != nil {
		e.UsedKey, e.UsedAt = text(used.Key), timeOf(&used.At)
	}
	if _, err := enrollment.FromObject(object); err != nil {
		e.Invalid = text(err.Error())
	}
	for _, condition := range status.Conditions {
		e.Conditions = append(e.Conditions, Condition{
			Type: text(condition.Type), Status: text(string(condition.Status)), Reason: text(condition.Reason),
			Message: text(condition.Message), Since: condition.LastTransitionTime.UTC(),
		})
	}
	return e
}

func describeNode(node *corev1.Node) *Node {
	info := node.Status.NodeInfo
	n := &Node{
		Created: node.CreationTimestamp.UTC(), KubeletVersion: text(info.KubeletVersion), OSImage: text(info.OSImage),
		MachineID: text(info.MachineID), IsUnschedulable: node.Spec.Unschedulable,
	}
	for _, address := range node.Status.Addresses {
		n.Addresses = append(n.Addresses, text(string(address.Type)+"="+address.Address))
	}
	for _, taint := range node.Spec.Taints {
		n.Taints = append(n.Taints, text(taint.ToString()))
	}
	for _, condition := range node.Status.Conditions {
		n.Conditions = append(n.Conditions, Condition{
			Type: text(string(condition.Type)), Status: text(string(condition.Status)), Reason: text(condition.Reason),
			Message: text(condition.Message), Since: condition.LastTransitionTime.UTC(),
		})
	}
	const maxItems = 100 // a node writes its own addresses and conditions
	n.Addresses = n.Addresses[:min(len(n.Addresses), maxItems)]
	n.Conditions = n.Conditions[:min(len(n.Conditions), maxItems)]
	return n
}

// describeAgent returns what an agent reports, nil if it reports nothing.
func describeAgent(annotations map[string]string) *Agent {
	agent := Agent{
		Reported:           reported(annotations[v1alpha1.AnnotationReported]),
		State:              reported(annotations[v1alpha1.AnnotationState]),
		Reason:             reported(annotations[v1alpha1.AnnotationReason]),
		Release:            reported(annotations[v1alpha1.AnnotationRelease]),
		Config:             reported(annotations[v1alpha1.AnnotationCurrentConfig]),
		HostClass:          reported(annotations[v1alpha1.AnnotationHostClass]),
		CertificateExpires: reported(annotations[v1alpha1.AnnotationCertificateExpires]),
	}
	if agent == (Agent{}) {
		return nil
	}
	return &agent
}

func cleanCSR(csr approver.CSRSummary) approver.CSRSummary {
	csr.Name, csr.Requestor, csr.Reason = text(csr.Name), text(csr.Requestor), text(csr.Reason)
	return csr
}

// maxEvents is the number of Events in a description.
const maxEvents = 50

// events returns the newest Events of a node, sorted by time. Those of cluster-scoped objects are in namespace default.
func (c Client) events(ctx context.Context, node string) ([]Event, error) {
	var all []Event
	options := metav1.ListOptions{FieldSelector: "involvedObject.name=" + node, Limit: pageSize}
	for {
		page, err := c.Conn.Client.Events(metav1.NamespaceDefault).List(ctx, options)
		if err != nil {
			return nil, c.explain(ctx, err, "list", kind{resource: "events", path: []string{"events"}})
		}
		for i := range page.Items {
			if event := &page.Items[i]; slices.Contains([]string{"Node", "NodeEnrollment"}, event.InvolvedObject.Kind) {
				all = append(all, describeEvent(event))
			}
		}
		slices.SortStableFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) })
		all = all[max(0, len(all)-maxEvents):]
		if options.Continue = page.Continue; options.Continue == "" {
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
		Message: text(event.Message), Count: count, Source: text(cmp.Or(event.ReportingController, event.Source.Component)),
	}
}

// text returns a text of another party for a description.
func text(of string) string { return Clean(of, maxTextLength) }

// reported returns a text that a node has reported about itself, and that should be short.
func reported(of string) string {
	const limit = 256
	return Clean(of, limit)
}

func texts(of []string) []string { return lists.Map(of, text) }

// timeOf returns a time, nil if there is none.
func timeOf(at *metav1.Time) *time.Time {
	if at == nil {
		return nil
	}
	utc := at.UTC()
	return &utc
}
