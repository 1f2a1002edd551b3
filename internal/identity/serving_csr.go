// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// servingCSRTimeout is how long kubelet waits for a serving CSR to be approved.
// After that time it discards the key (certificateWaitTimeout in
// k8s.io/client-go/util/certificate).
const servingCSRTimeout = 15 * time.Minute

// csrChoice is the result of selecting among the serving CSRs of a node.
type csrChoice struct {
	csr      *kube.CSR // the selected CSR; nil if no CSR is acceptable
	rejected *Renewal  // why the newest CSR was rejected; nil if it is acceptable
}

// selectCSR selects the newest acceptable serving CSR. Older CSRs count only while
// kubelet still waits for them.
func (s *Serving) selectCSR(found map[string]*kube.CSR) csrChoice {
	var c csrChoice
	now := s.Conn.Clock.Now()
	for n, csr := range newestFirst(found, nodeUser(s.NodeName)) {
		if n > 0 && now.Sub(csr.CreationTimestamp.Time) >= servingCSRTimeout {
			break
		}
		mismatch := s.explainMismatch(csr)
		if mismatch == nil {
			c.csr = csr
			break
		}
		if n == 0 {
			c.rejected = mismatch
		}
	}
	return c
}

// explainMismatch returns why a serving CSR of this node must not be approved, or nil if
// it may be. Wrong names and addresses are explained; for all other reasons the
// error of Validate is used.
func (s *Serving) explainMismatch(csr *kube.CSR) *Renewal {
	refused := s.Validate(csr)
	if refused == nil {
		return nil
	}
	reason, remedy := refused.Error(), report.Remedy("oc get csr "+csr.Name+" -o yaml")
	if request, err := parseRequest(csr.Spec.Request); err == nil {
		addresses := make([]netip.Addr, 0, len(request.IPAddresses))
		for _, ip := range request.IPAddresses {
			address, _ := netip.AddrFromSlice(ip)
			addresses = append(addresses, address.Unmap())
		}
		if text, known := s.explainNames(request.DNSNames, addresses); known {
			reason, remedy = text, report.Remedy("ip -br address; oc get node "+s.NodeName+" -o wide; systemctl "+
				"restart kubelet # kubelet requests a new certificate with the current names and addresses")
		}
	}
	return &Renewal{Text: fmt.Sprintf("serving CSR %s does not match this machine, do not approve it: %s",
		csr.Name, reason), Remedy: remedy}
}

// explainNames explains which DNS name or IP address is wrong. known is false if
// all of them are right.
func (s *Serving) explainNames(names []string, addresses []netip.Addr) (text string, known bool) {
	has := "it has " + strings.Join(lists.Map(s.Addresses, netip.Addr.String), ", ")
	if len(s.Addresses) == 0 {
		has = "it has no address"
	}
	if len(names) != 1 || names[0] != s.NodeName {
		requested := strings.Join(names, ", ")
		if requested == "" {
			requested = "no name"
		}
		return fmt.Sprintf("it requests %s, but this node is %s", requested, s.NodeName), true
	}
	if len(addresses) == 0 {
		return "it requests no address: the Node had no address when kubelet created it", true
	}
	for _, address := range addresses {
		if !slices.Contains(s.Addresses, address) {
			return fmt.Sprintf("it requests the address %s, which this machine does not have (%s); another "+
				"machine uses this name, or the address has changed", address, has), true
		}
	}
	return "", false
}
