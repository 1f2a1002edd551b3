// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print prints a description as oc describe does.
func (d *Description) Print(w *report.Page, now time.Time) {
	p := descriptionPage{Page: w, now: now, printed: map[string]bool{}}
	if p.diagnosis = d.diagnosis(); p.diagnosis != "" {
		w.Item("", d.Name+": "+p.diagnosis)
	}
	p.field("Name", d.Name)
	if d.Enrollment != nil {
		p.enrollment(d)
	} else {
		p.field("Enrollment", "none")
	}
	if d.Node != nil {
		p.node(d.Node)
		p.agent(d)
	} else if !d.isUnreadable("nodes") {
		p.field("Node", "does not exist")
	}
	p.csrs(d.CSRs)
	p.events(d.Events)
	for _, resource := range d.Unreadable {
		w.Item("", fmt.Sprintf("not shown: %s, which the credential must not read", resource))
	}
	if len(d.Next) == 0 {
		return
	}
	w.Printf("\n%s\n", w.Title("Next:"))
	w.Problems(lists.Map(d.Next, func(one report.Problem) report.Problem {
		if one.Message == p.diagnosis {
			one.Message = "find the cause of the state in the first line"
		}
		return one
	}))
}

func (d *Description) isUnreadable(resource string) bool {
	return slices.Contains(d.Unreadable, resource)
}

// descriptionPage prints the sections of a description.
type descriptionPage struct {
	*report.Page
	now       time.Time
	diagnosis string
	printed   map[string]bool // texts of conditions
}

// once returns a text for the page, "" if it was printed before.
func (p descriptionPage) once(of string) string {
	shown := text(of)
	if shown == "" || p.printed[shown] || strings.HasSuffix(p.diagnosis, ": "+shown) {
		return ""
	}
	p.printed[shown] = true
	return shown
}

// field prints a field without control characters, unless it is empty.
func (p descriptionPage) field(name, value string) {
	const width = 20
	if value != "" {
		label := fmt.Sprintf("%-*s ", width-1, name+":")
		p.Hanging(label, strings.Repeat(" ", width), text(value))
	}
}

// section prints the heading of a section. Its fields are indented.
func (p descriptionPage) section(name string) { p.Printf("\n%s\n", p.Title(name+":")) }

func (p descriptionPage) enrollment(d *Description) {
	object := d.Enrollment
	spec, status := object.Spec, object.Status
	p.field("Phase", string(status.Phase))
	p.field("Reason", p.once(status.Reason))
	p.field("NodePool", spec.NodePool)
	p.field("Release", status.Release)
	p.field("Config", status.ConfigHash)
	p.field("Host class", status.HostClass)
	p.field("Certificate", p.until(status.CertificateExpires))
	p.field("Reported", p.ago(status.LastReport))
	p.section("Enrollment")
	p.field("  Created", p.ago(&object.CreationTimestamp))
	if object.DeletionTimestamp != nil {
		p.field("  Deleted", "in progress")
	}
	p.field("  Invalid", d.Invalid)
	p.field("  Join token", spec.TokenID)
	p.field("  Token expires", p.until(&spec.Expires))
	p.field("  Addresses", strings.Join(spec.Addresses, ", "))
	p.field("  Reinstall", string(spec.Reinstall))
	if used := spec.UsedBy; used != nil {
		p.field("  Used key", used.Key)
		p.field("  Used", p.ago(&used.At))
	}
	p.field("  Client CSR", status.ClientCSR)
	p.field("  Serving CSR", status.ServingCSR)
	for _, one := range status.Conditions {
		p.condition(one.Type, string(one.Status), one.LastTransitionTime, one.Reason, one.Message)
	}
}

func (p descriptionPage) node(node *corev1.Node) {
	const maxItems = 100 // a node writes its own addresses and conditions
	info, status := node.Status.NodeInfo, node.Status
	p.section("Node")
	p.field("  Created", p.ago(&node.CreationTimestamp))
	p.field("  Kubelet", info.KubeletVersion)
	p.field("  OS", info.OSImage)
	p.field("  Machine ID", info.MachineID)
	addresses := lists.Map(status.Addresses[:min(len(status.Addresses), maxItems)], func(one corev1.NodeAddress) string {
		return string(one.Type) + "=" + one.Address
	})
	p.field("  Addresses", strings.Join(addresses, ", "))
	taints := lists.Map(node.Spec.Taints, func(one corev1.Taint) string { return one.ToString() })
	p.field("  Taints", strings.Join(taints, ", "))
	if node.Spec.Unschedulable {
		p.field("  Cordoned", "yes")
	}
	for _, one := range status.Conditions[:min(len(status.Conditions), maxItems)] {
		p.condition(string(one.Type), string(one.Status), one.LastTransitionTime, one.Reason, one.Message)
	}
}

func (p descriptionPage) agent(d *Description) {
	title := "Agent, as the node itself reports"
	for _, field := range []struct{ name, annotation string }{
		{"  Reported", v1alpha1.AnnotationReported},
		{"  State", v1alpha1.AnnotationState},
		{"  Reason", v1alpha1.AnnotationReason},
		{"  Release", v1alpha1.AnnotationRelease},
		{"  Config", v1alpha1.AnnotationCurrentConfig},
		{"  Host class", v1alpha1.AnnotationHostClass},
		{"  API server", v1alpha1.AnnotationAPIServer},
		{"  Certificate", v1alpha1.AnnotationCertificateExpires},
	} {
		value := d.agent(field.annotation)
		if value != "" && title != "" {
			p.section(title)
			title = ""
		}
		p.field(field.name, value)
	}
}

func (p descriptionPage) condition(kind, status string, since metav1.Time, reason, message string) {
	value := fmt.Sprintf("%s since %s", status, p.age(since.Time))
	for _, detail := range []string{reason, p.once(message)} {
		if detail != "" {
			value += ": " + detail
		}
	}
	const width = 20
	label := text(kind) + ":"
	if len(label) >= width-len("  ") { // such as CertificateExpiring
		label += " "
	}
	p.Hanging("  "+fmt.Sprintf("%-*s", width-len("  "), label), strings.Repeat(" ", width), text(value))
}

func (p descriptionPage) csrs(all []approver.CSRSummary) {
	if len(all) == 0 {
		return
	}
	p.section("CSRs")
	for _, csr := range all {
		kind := "client"
		if csr.IsServing() {
			kind = "serving"
		}
		state := string(csr.State)
		if csr.Reason != "" {
			state += " (" + csr.Reason + ")"
		}
		line := fmt.Sprintf("%s, %s, age %s, by %s", kind, state, p.age(csr.Created), csr.Requestor)
		if csr.Key != "" {
			line += ", key " + csr.Key
		}
		if len(csr.Addresses) > 0 {
			line += ", for " + strings.Join(csr.Addresses, ", ")
		}
		p.Hanging("  "+approver.DisplayName(csr.Name)+": ", "    ", line)
	}
}

func (p descriptionPage) events(all []Event) {
	if len(all) == 0 {
		return
	}
	p.section("Events")
	for _, event := range all {
		count := ""
		if event.Count > 1 {
			count = fmt.Sprintf(" (%d times)", event.Count)
		}
		label := fmt.Sprintf("  %-6s %-8s %s: ", p.age(event.Time), event.Type, event.Reason)
		p.Hanging(label, strings.Repeat(" ", len("  000000 Warning  ")), event.Message+count)
	}
}

// age returns the age of a time, such as 5m.
func (p descriptionPage) age(at time.Time) string {
	return duration.HumanDuration(max(0, p.now.Sub(at)))
}

// ago returns a time in the past with its age.
func (p descriptionPage) ago(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", report.Timestamp(at.Time), p.age(at.Time))
}

// until returns the time of an expiry with the time that is left.
func (p descriptionPage) until(at *metav1.Time) string {
	switch {
	case at == nil:
		return ""
	case !p.now.Before(at.Time):
		return report.Timestamp(at.Time) + " (expired)"
	}
	return fmt.Sprintf("%s (in %s)", report.Timestamp(at.Time), duration.HumanDuration(at.Sub(p.now)))
}
