// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print prints a description as oc describe does.
func (d *Description) Print(w *report.Page, now time.Time) {
	p := descriptionPage{Page: w, now: now}
	p.field("Name", d.Name)
	if d.Enrollment != nil {
		p.enrollment(d.Enrollment)
	} else {
		p.field("Enrollment", "none")
	}
	if d.Node != nil {
		p.node(d.Node)
	} else if !d.isUnreadable("nodes") {
		p.field("Node", "does not exist")
	}
	if d.Agent != nil {
		p.agent(d.Agent)
	}
	p.csrs(d.CSRs)
	p.events(d.Events)
	for _, resource := range d.Unreadable {
		w.Item("", fmt.Sprintf("not shown: %s, which the credential must not read", resource))
	}
	if len(d.Next) > 0 {
		w.Printf("\n%s\n", w.Title("Next:"))
		w.Problems(d.Next)
	}
}

func (d *Description) isUnreadable(resource string) bool {
	return slices.Contains(d.Unreadable, resource)
}

// descriptionPage prints the sections of a description.
type descriptionPage struct {
	*report.Page
	now time.Time
}

// field prints a field unless it is empty.
func (p descriptionPage) field(name, value string) {
	const width = 20
	if value != "" {
		label := fmt.Sprintf("%-*s", width, name+":")
		p.Hanging(label, strings.Repeat(" ", width), value)
	}
}

// section prints the heading of a section. Its fields are indented.
func (p descriptionPage) section(name string) { p.Printf("\n%s\n", p.Title(name+":")) }

func (p descriptionPage) enrollment(e *Enrollment) {
	p.field("Phase", string(e.Phase))
	p.field("Reason", e.Reason)
	p.field("NodePool", e.NodePool)
	p.field("Release", e.Release)
	p.field("Config", e.Config)
	p.field("Host class", e.HostClass)
	p.field("Certificate", p.until(e.CertificateExpires))
	p.field("Reported", p.ago(e.LastReport))
	p.section("Enrollment")
	p.field("  Created", p.ago(&e.Created))
	if e.IsDeleted {
		p.field("  Deleted", "in progress")
	}
	p.field("  Invalid", e.Invalid)
	p.field("  Join token", e.TokenID)
	p.field("  Token expires", p.until(&e.TokenExpires))
	p.field("  Addresses", strings.Join(e.Addresses, ", "))
	p.field("  Reinstall", string(e.Reinstall))
	p.field("  Used key", e.UsedKey)
	p.field("  Used", p.ago(e.UsedAt))
	p.field("  Client CSR", e.ClientCSR)
	p.field("  Serving CSR", e.ServingCSR)
	p.conditions(e.Conditions)
}

func (p descriptionPage) node(n *Node) {
	p.section("Node")
	p.field("  Created", p.ago(&n.Created))
	p.field("  Kubelet", n.KubeletVersion)
	p.field("  OS", n.OSImage)
	p.field("  Machine ID", n.MachineID)
	p.field("  Addresses", strings.Join(n.Addresses, ", "))
	p.field("  Taints", strings.Join(n.Taints, ", "))
	if n.IsUnschedulable {
		p.field("  Cordoned", "yes")
	}
	p.conditions(n.Conditions)
}

func (p descriptionPage) agent(a *Agent) {
	p.section("Agent, as the node itself reports")
	p.field("  Reported", a.Reported)
	p.field("  State", a.State)
	p.field("  Reason", a.Reason)
	p.field("  Release", a.Release)
	p.field("  Config", a.Config)
	p.field("  Host class", a.HostClass)
	p.field("  Certificate", a.CertificateExpires)
}

func (p descriptionPage) conditions(conditions []Condition) {
	for _, condition := range conditions {
		value := fmt.Sprintf("%s since %s", condition.Status, p.age(condition.Since))
		for _, detail := range []string{condition.Reason, condition.Message} {
			if detail != "" {
				value += ": " + detail
			}
		}
		p.field("  "+condition.Type, value)
	}
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
func (p descriptionPage) ago(at *time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", report.Timestamp(*at), p.age(*at))
}

// until returns the time of an expiry with the time that is left.
func (p descriptionPage) until(at *time.Time) string {
	switch {
	case at == nil:
		return ""
	case !p.now.Before(*at):
		return report.Timestamp(*at) + " (expired)"
	}
	return fmt.Sprintf("%s (in %s)", report.Timestamp(*at), duration.HumanDuration(at.Sub(p.now)))
}
