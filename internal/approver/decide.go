package approver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// Verdict is the outcome of a decision on a CSR. CSRs are never denied, so an administrator can
// still approve an ignored or refused one.
type Verdict string

// Outcomes of a decision.
const (
	Approve Verdict = "approved"
	Leave   Verdict = "left"    // no enrollment applies
	Refuse  Verdict = "refused" // it names an enrollment, or an enrolled node, and breaks a rule
)

// Decision is the outcome for a CSR and its reason.
type Decision struct {
	Verdict Verdict
	Reason  string // "" if there is nothing to report
	Remedy  string
	Node    string
	Claim   *ticket.Claim // the enrollment that permits the approval
	Key     string        // fingerprint of the CSR's public key
}

// Facts describe the state of the cluster for a decision.
type Facts struct {
	Now         time.Time
	Authorities []ticket.Hash           // hashes of the cluster's CAs, from the approver's kubeconfig
	Bound       map[string]string       // token ID to the fingerprint of the key that it was used with
	Full        bool                    // no further usage records can be stored
	NodeExists  bool                    // a Node with the enrollment's node name exists
	NodesOf     map[netip.Addr][]string // address to the names of the Nodes that report it
}

// Decide decides on a CSR. The decision depends only on the CSR, the enrollments and the facts.
// No other function decides whether a CSR is approved.
func Decide(csr *certificatesv1.CertificateSigningRequest, claims Claims, facts Facts) Decision {
	switch {
	case answered(csr):
		return Decision{Verdict: Leave}
	case csr.Spec.SignerName == certificatesv1.KubeletServingSignerName:
		return decideServing(csr, claims, facts)
	case csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		return Decision{Verdict: Leave}
	case csr.Spec.Username == nodePrefix+lookInto(csr).node:
		// A renewal, which the cluster itself approves (selfnodeclient).
		return Decision{Verdict: Leave}
	}
	return decideClient(csr, claims, facts)
}

func decideClient(csr *certificatesv1.CertificateSigningRequest, claims Claims, facts Facts) Decision {
	request := lookInto(csr)
	d := Decision{Verdict: Refuse, Node: request.node, Key: request.fingerprint}
	id := csr.Annotations[ticket.AnnotationID]
	claim := claims.byID[id]
	if claim == nil {
		return unclaimed(d, id, claims)
	}
	d.Node = claim.NodeName
	want := Want{NodeName: claim.NodeName, PublicKey: request.key}
	// Verify the token's signature before the expensive rules: only the holder of the token can
	// pass that check, while any bootstrapper can read the token ID from the CSR.
	for _, rule := range []func() error{
		func() error { return claim.InTime(facts.Now) },
		func() error { return request.unusable },
		func() error { return claim.Verify(facts.Authorities, request.key, csr.Annotations) },
		func() error { return want.Client(csr) },
	} {
		if err := rule(); err != nil {
			d.Reason = err.Error()
			return d
		}
	}
	own, err := ticket.ClientCSRName(request.key, claim.NodeName)
	if err != nil {
		d.Reason = err.Error()
		return d
	}
	switch bound := facts.Bound[id]; {
	case facts.NodeExists:
		d.Reason = fmt.Sprintf("a Node %s is in the cluster already", d.Node)
		d.Remedy = "oc delete node " + d.Node + " # if its machine is gone or made anew; it is approved after that"
		return d
	case bound != "" && bound != d.Key:
		d.Reason = fmt.Sprintf("the ticket %s was used already, with another key (%s)", id, bound)
		d.Remedy = "hcp-node-agent ticket create --node " + d.Node + " --kubeconfig FILE # if the machine was made anew; look who has the ticket if it was not"
		return d
	case bound == "" && facts.Full:
		d.Verdict, d.Reason, d.Remedy = Leave, "no more tickets can be noted as used: the ConfigMap of bindings is full", fullRemedy
		return d
	case csr.Name != own:
		// Any bootstrapper can copy the request and its signature any number of times.
		d.Reason = "it is a copy: the CSR that the node submits with this key is named " + own
		return d
	}
	d.Verdict, d.Claim = Approve, claim
	return d
}

// unclaimed completes the decision on a client CSR whose token ID matches no enrollment.
func unclaimed(d Decision, id string, claims Claims) Decision {
	of := claims.byNode[d.Node]
	switch {
	case len(of) > 0 && id == "":
		d.Reason = fmt.Sprintf("it carries no ticket, and the node %s has one (%s)", d.Node, of[0].ID)
	case len(of) > 0:
		d.Reason = fmt.Sprintf("there is no claim of its ticket %q; the node %s has the ticket %s", shorten(id), d.Node, of[0].ID)
	case id == "":
		d.Verdict, d.Reason = Leave, fmt.Sprintf("it carries no ticket, and there is no claim for the node %q", shorten(d.Node))
	default:
		d.Verdict, d.Reason = Leave, fmt.Sprintf("there is no claim of its ticket %q", shorten(id))
	}
	return d
}

func decideServing(csr *certificatesv1.CertificateSigningRequest, claims Claims, facts Facts) Decision {
	request := lookInto(csr)
	name, isNode := strings.CutPrefix(csr.Spec.Username, nodePrefix)
	if !isNode {
		name = request.node // refused by ExpectedNode below if the node has an enrollment
	}
	d := Decision{
		Verdict: Leave, Node: name, Key: request.fingerprint,
		Remedy: commandFor("oc adm certificate approve ", csr.Name, " # after a look at its names"),
	}
	if len(claims.byNode[name]) == 0 {
		d.Reason = fmt.Sprintf("there is no claim for the node %q", shorten(name))
		return d
	}
	claim := boundClaim(claims.byNode[name], facts)
	switch {
	case claim == nil:
		d.Reason = "no ticket of " + name + " was used in this cluster: it did not get its identity by its claim"
		return d
	case len(claim.Addresses) == 0:
		d.Reason = "the claim of " + name + " names no addresses, so a person has to look at those of the CSR"
		return d
	}
	d.Verdict, d.Remedy = Refuse, ""
	if err := (Want{NodeName: name, Addresses: claim.Addresses}).Serving(csr); err != nil {
		d.Reason = err.Error()
		return d
	}
	conflict := request.conflict(name, claims, facts)
	if d.Reason = conflict.String(); conflict.claimed {
		return d
	}
	d.Verdict, d.Claim = Approve, claim
	return d
}

// boundClaim returns the newest enrollment that the node has used to join. Expiry is ignored,
// because it only limits the first use of the token.
func boundClaim(of []*ticket.Claim, facts Facts) *ticket.Claim {
	for _, claim := range of {
		if facts.Bound[claim.ID] != "" && claim.Fits(facts.Authorities) == nil {
			return claim
		}
	}
	return nil
}

// answered reports whether a CSR is already approved, denied, failed or issued.
func answered(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Conditions) > 0 || len(csr.Status.Certificate) > 0
}

// touches reports whether a CSR refers to an enrollment or an enrolled node. Only for those are
// requests to the cluster necessary.
func touches(csr *certificatesv1.CertificateSigningRequest, claims Claims) bool {
	_, ticketed := claims.byID[csr.Annotations[ticket.AnnotationID]]
	requestor := strings.TrimPrefix(csr.Spec.Username, nodePrefix)
	return ticketed || len(claims.byNode[lookInto(csr).node]) > 0 || len(claims.byNode[requestor]) > 0
}

// inside is the content of a CSR before any rule is applied.
type inside struct {
	unusable    error  // why the request or its key cannot be one of a kubelet
	node        string // "" if the subject is not a node's
	key         any
	fingerprint string
	addresses   []netip.Addr
}

func lookInto(csr *certificatesv1.CertificateSigningRequest) inside {
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return inside{unusable: err}
	}
	in := inside{
		unusable: checkKey(request.PublicKey), key: request.PublicKey, fingerprint: ticket.Fingerprint(request.PublicKey),
	}
	if name, isNode := strings.CutPrefix(request.Subject.CommonName, nodePrefix); isNode {
		in.node = name
	}
	for _, ip := range request.IPAddresses {
		if address, valid := netip.AddrFromSlice(ip); valid {
			in.addresses = append(in.addresses, address.Unmap())
		}
	}
	return in
}

// addressConflict is an address of a CSR that the Node of another host also has.
type addressConflict struct {
	address netip.Addr
	node    string // "" if no other Node has one of the addresses
	claimed bool   // a usable enrollment of that Node contains the address
}

// String describes the conflict, or returns "" when there is none.
func (c addressConflict) String() string {
	switch {
	case c.node == "":
		return ""
	case c.claimed:
		return fmt.Sprintf("the address %s is that of the Node %s, and the claim of %s names it, too", c.address, c.node, c.node)
	}
	return fmt.Sprintf("the Node %s has the address %s, too, which no claim of %s names", c.node, c.address, c.node)
}

// conflict returns the most severe conflict between the CSR's addresses and the Nodes other than
// name. A node writes the addresses of its own Node, so an address counts as that node's only if
// a usable enrollment of the node contains it. Otherwise any node could block the serving
// certificate of any other.
func (in inside) conflict(name string, claims Claims, facts Facts) addressConflict {
	var found addressConflict
	for _, address := range in.addresses {
		for _, owner := range facts.NodesOf[address] {
			if owner == name {
				continue
			}
			found = addressConflict{address: address, node: owner, claimed: claims.nameAddress(owner, address, facts)}
			if found.claimed {
				return found
			}
		}
	}
	return found
}

// nameAddress reports whether a usable enrollment of a node contains an address. An enrollment is
// usable if it is for this cluster and was used by the node or has not expired.
func (c Claims) nameAddress(node string, address netip.Addr, facts Facts) bool {
	return slices.ContainsFunc(c.byNode[node], func(claim *ticket.Claim) bool {
		return slices.Contains(claim.Addresses, address) && claim.Fits(facts.Authorities) == nil &&
			(facts.Bound[claim.ID] != "" || claim.InTime(facts.Now) == nil)
	})
}

func shorten(text string) string { return shortenTo(80, text) }

// shortenTo returns at most most bytes of text, with an ellipsis if text is longer.
func shortenTo(most int, text string) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
