// Package ticket is how a node gets into a cluster with no person at it: two
// files for each node, and what one proves to the other.
//
// NAME.ticket goes to the host. It holds an Ed25519 private key, and so is a
// secret. NAME.claim goes to the approver. It holds the public key, what the
// node is called and which addresses it may have, and no secret.
//
// The host signs, with the ticket's key, which cluster it joins, which ticket
// it has, what it is called and the public key of its certificate request. The
// signature is put into annotations of the CSR, which can be set only when it
// is created. The approver, who has the claim, verifies it.
package ticket

// APIVersion begins both documents.
const APIVersion = "node.hcp-agent.io/v1alpha1"

// The kinds of documents.
const (
	KindTicket = "Ticket"
	KindClaim  = "Claim"
)

// The ends of the files' names.
const (
	TicketSuffix = ".ticket"
	ClaimSuffix  = ".claim"
)
