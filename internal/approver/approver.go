package approver

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options say what an approver works with.
type Options struct {
	Kubeconfig []byte // of the hosted cluster; used, not stored
	Claims     string // directory of NAME.claim files; ByHand needs none
	Namespace  string // of the ConfigMap of bindings
	ConfigMap  string
	Tell       func(Told)        // takes what was decided, one at a time
	Status     func(text string) // takes how it is, whenever that changes; nil for nobody
	Ready      func()            // is called once, when the first look at the cluster has gone well; nil for nobody
}

// Told is one decision, or something else worth a line.
type Told struct {
	Time    time.Time     `json:"time"`
	Verdict Verdict       `json:"verdict"`
	Node    string        `json:"node,omitempty"`
	CSR     string        `json:"csr,omitempty"`
	Signer  string        `json:"signer,omitempty"`
	Key     string        `json:"key,omitempty"` // fingerprint of the public key
	Ticket  string        `json:"ticket,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Remedy  report.Remedy `json:"remedy,omitempty"`
}

// Beside the verdicts, an approver tells of these.
const (
	Warned Verdict = "warning" // a claim cannot be used, the API server does not answer, or does not let an approval through
	Noted  Verdict = "note"
)

// Approver approves CSRs by claims.
type Approver struct {
	connection
	options  Options
	bindings bindings
	dir      claimsDir
	claims   Claims

	told      memory
	broken    map[string]bool // problems of claims that were told
	unsettled bool            // something could be decided otherwise without a change of its CSR
	patience  time.Duration   // how long to wait until it is looked at again
	soon      time.Duration   // what patience begins with
	crossed   bool            // somebody else wrote a CSR while it was approved
	tally     tally           // of the look at all CSRs, and of what has changed since
	approved  int
}

// Open prepares an approver; nothing is asked of the cluster yet.
func Open(options Options) (*Approver, error) {
	connection, err := connect(options.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return &Approver{
		connection: connection, options: options, claims: NewClaims(nil),
		bindings: bindings{client: connection.client, namespace: options.Namespace, name: options.ConfigMap},
		dir:      claimsDir{path: options.Claims}, broken: map[string]bool{}, patience: lookAgainForSome, soon: lookAgainForSome,
	}, nil
}

func (a *Approver) tell(told Told) {
	told.Time = time.Now().UTC()
	a.options.Tell(told)
}

// What is told of a CSR has an end: a stranger writes some of it.
const (
	mostNode   = 253 // of a Node's name
	mostReason = 1000
)

// tellOf tells of a decision, once: again only when the reason is another.
func (a *Approver) tellOf(csr *certificatesv1.CertificateSigningRequest, d Decision) {
	d.Node, d.Reason = shortenTo(mostNode, d.Node), shortenTo(mostReason, d.Reason)
	if d.Verdict != Approve {
		if d.Reason == "" || !a.told.add(csr.UID, d.Reason) {
			return
		}
		a.patience = a.soon
	}
	a.tell(toldOf(csr, d))
}

// tellFailed tells once that a CSR could not be approved: again only when it
// fails in another way, as the server's sentence can have a time in it.
func (a *Approver) tellFailed(csr *certificatesv1.CertificateSigningRequest, d Decision, err error) {
	kind := "failed: " + string(apierrors.ReasonForError(err))
	if !a.told.add(csr.UID, kind) {
		return
	}
	a.patience = a.soon
	d.Verdict, d.Reason, d.Remedy = Warned, "it cannot be approved: "+err.Error(), "# it is tried again"
	a.tell(toldOf(csr, d))
}

func toldOf(csr *certificatesv1.CertificateSigningRequest, d Decision) Told {
	told := Told{
		Verdict: d.Verdict, Node: d.Node, CSR: csr.Name, Signer: csr.Spec.SignerName, Key: d.Key, Reason: d.Reason, Remedy: report.Remedy(d.Remedy),
	}
	if d.Claim != nil {
		told.Ticket = d.Claim.ID
	}
	return told
}

// loadClaims reads the claims anew, and tells what is wrong with them, once.
func (a *Approver) loadClaims() {
	claims, problems := a.dir.load()
	broken := map[string]bool{}
	for _, problem := range problems {
		broken[problem.Error()] = true
		if !a.broken[problem.Error()] {
			a.tell(Told{Verdict: Warned, Reason: problem.Error()})
		}
	}
	a.claims, a.broken = claims, broken
}

// requestTime bounds one request that is not a watch.
const requestTime = 30 * time.Second

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, requestTime)
}
