// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// Content is the content of a CSR before any rule is applied. The requestor has chosen all of it except Requestor.
type Content struct {
	Requestor      string           // the node that has submitted the CSR, "" if it was another user
	TokenID        string           // of the join token, "" if the CSR has none
	HasCertificate bool             // it contains a previous client certificate, whose CA the decision needs
	Invalid        error            // why the request or its key cannot be one of a kubelet
	Node           string           // in the subject, "" if the subject is not that of a node
	PublicKey      crypto.PublicKey // of the certificate
	Fingerprint    string           // of PublicKey
	Addresses      []netip.Addr     // that the certificate would contain
}

// ParseCSR returns the content of a CSR.
func ParseCSR(csr *kube.CSR) Content {
	content := Content{
		TokenID:        csr.Annotations[enrollment.AnnotationID],
		HasCertificate: csr.Annotations[enrollment.AnnotationCertificate] != "",
	}
	if name, isNode := strings.CutPrefix(csr.Spec.Username, nodePrefix); isNode {
		content.Requestor = name
	}
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		content.Invalid = err
		return content
	}
	content.Invalid = checkKey(request.PublicKey)
	content.PublicKey, content.Fingerprint = request.PublicKey, enrollment.Fingerprint(request.PublicKey)
	if name, isNode := strings.CutPrefix(request.Subject.CommonName, nodePrefix); isNode {
		content.Node = name
	}
	for _, ip := range request.IPAddresses {
		if address, valid := netip.AddrFromSlice(ip); valid {
			content.Addresses = append(content.Addresses, address.Unmap())
		}
	}
	return content
}

// EnrolledNodes returns the names of the nodes whose enrollment the CSR may be for.
func (c Content) EnrolledNodes() []string {
	var names []string
	for _, name := range []string{c.Node, c.Requestor} {
		if enrollment.CheckNodeName(name) == nil {
			names = append(names, name)
		}
	}
	return names
}
