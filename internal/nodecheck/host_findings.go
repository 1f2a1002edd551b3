// SPDX-License-Identifier: Apache-2.0

package nodecheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HostFacts contains the names and addresses of the join, and those of the host now.
type HostFacts struct {
	NodeName    string // of the join
	CurrentName string // with which kubelet would start now; "" if unknown
	Hostname    string // of the host now

	Configured nodeip.Addresses // in kubelet's drop-in; none if the agent did not write it
	Suitable   nodeip.Addresses // that the boot unit would choose now
	Existing   []netip.Addr     // of all interfaces
	Running    nodeip.Addresses // in the environment of the running kubelet; none if unknown

	RolledBack bool // the image was rolled back to an /etc from before changes of the agent
}

// Findings returns at most one finding about a rollback of the image, one about the host name and one about the
// addresses.
func (f HostFacts) Findings() []report.Finding {
	return slices.Concat(f.rollbackFinding(), f.nameFinding(), f.addressFinding())
}

func (f HostFacts) rollbackFinding() []report.Finding {
	if !f.RolledBack {
		return nil
	}
	return problem(report.HostRolledBack, "hcp-node-agent join # applies the payload to this /etc; or boot the other "+
		"deployment again: bootc rollback",
		"this host was rolled back to a deployment whose /etc is from before the last payload; the service repairs nothing")
}

// HasOtherName reports whether kubelet would start with another name than that of its Node.
// kubelet does not start then, because its certificate contains the name.
func (f HostFacts) HasOtherName() bool { return f.CurrentName != "" && f.CurrentName != f.NodeName }

func (f HostFacts) nameFinding() []report.Finding {
	switch {
	case !f.HasOtherName():
		return nil
	case !strings.EqualFold(f.CurrentName, f.Hostname):
		return problem(report.HostNameChanged, "hcp-node-agent join # restores kubelet's unit",
			"kubelet would start with the name %s (--hostname-override of its unit), but the Node is %s: kubelet keeps "+
				"working only until its next restart", f.CurrentName, f.NodeName)
	}
	// A kubelet that was started with the new name runs, and can neither report its Node nor renew its Lease.
	return problem(report.HostNameChanged, report.Remedyf("hostnamectl set-hostname %s && systemctl restart kubelet "+
		"# or, to use the new name: hcp-node-agent leave, then join again", f.NodeName),
		"the host name changed to %s, but the Node is %s: kubelet keeps working only until its next restart, because "+
			"its certificate contains the name of the Node", f.CurrentName, f.NodeName)
}

// addressFinding returns a finding if the host has lost an address with which kubelet is
// configured, or if kubelet still runs with the addresses before a change. An additional
// address changes nothing.
func (f HostFacts) addressFinding() []report.Finding {
	lost := slices.DeleteFunc(f.Configured.All(), func(a netip.Addr) bool { return slices.Contains(f.Existing, a) })
	switch {
	case len(lost) > 0 && !f.Suitable.Primary().IsValid():
		return problem(report.NodeAddressMissing, "ip -br address; ip route show default",
			"this host no longer has the node address %s, and no other address is suitable", nodeip.Format(lost))
	case len(lost) > 0:
		return problem(report.NodeAddressChanged, "hcp-node-agent node-ip && systemctl restart crio kubelet",
			"the node address changed to %s from %s, with which kubelet and CRI-O are configured",
			nodeip.Format(f.Suitable.All()), nodeip.Format(f.Configured.All()))
	case f.Configured.Primary().IsValid() && f.Running.Primary().IsValid() && f.Running != f.Configured:
		return problem(report.NodeAddressChanged, "systemctl restart crio kubelet",
			"the node address changed to %s from %s, and kubelet has not been restarted since",
			nodeip.Format(f.Configured.All()), nodeip.Format(f.Running.All()))
	}
	return nil
}

func problem(reason report.Reason, remedy report.Remedy, format string, args ...any) []report.Finding {
	subject := "the node address"
	switch reason {
	case report.HostNameChanged:
		subject = "the host name"
	case report.HostRolledBack:
		subject = "the deployment"
	}
	return []report.Finding{{
		Severity: report.SeverityProblem, Reason: reason, Subject: subject,
		Message: fmt.Sprintf(format, args...), Remedy: remedy,
	}}
}
