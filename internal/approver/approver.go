package approver

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options configure an Approver.
type Options struct {
	Kubeconfig []byte // of the hosted cluster; not stored
	Claims     string // directory of the enrollment files; not used for manual approval
	Namespace  string // of the ConfigMap with the usage records
	ConfigMap  string
	Tell       func(Told)        // receives every decision, one call at a time
	Status     func(text string) // receives the status text whenever the status changes; may be nil
	Ready      func()            // is called once, after the first successful resync; may be nil
}

// Told is a decision on a CSR or another message of an approver.
type Told struct {
	Time    time.Time     `json:"time"`
	Verdict Verdict       `json:"verdict"`
	Node    string        `json:"node,omitempty"`
	CSR     string        `json:"csr,omitempty"`
	Signer  string        `json:"signer,omitempty"`
	Key     string        `json:"key,omitempty"` // fingerprint of the CSR's public key
	Ticket  string        `json:"ticket,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Remedy  report.Remedy `json:"remedy,omitempty"`
}

// Outcomes of events that are not decisions.
const (
	Warned Verdict = "warning" // an unusable enrollment, an unreachable API server or a rejected approval
	Noted  Verdict = "note"
)

// Approver approves CSRs that match an enrollment.
type Approver struct {
	connection
	options  Options
	bindings bindings
	dir      claimsDir
	claims   Claims

	told      memory
	broken    map[string]bool // errors of unusable enrollments that were already reported
	unsettled bool            // a decision can change without a change of its CSR
	patience  time.Duration   // until the next resync while needsResync is set
	soon      time.Duration   // initial value of resyncDelay
	crossed   bool            // another client wrote a CSR while it was approved
	tally     tally           // of the last resync and of the changes since
	approved  int
}

// Open creates an approver from a kubeconfig. It sends no requests to the cluster.
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

// Maximum lengths of reported texts, parts of which are chosen by the requestor.
const (
	mostNode   = 253 // of a Node name
	mostReason = 1000
)

// tellOf emits the event for a decision. A decision other than an approval is emitted again only
// if its reason has changed.
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

// tellFailed reports that a CSR could not be approved. It reports a CSR again only if the status
// reason of the error changes, because the API server's message can contain a time.
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

// loadClaims reads the enrollments and reports each unusable one once.
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

// requestTime limits one request that is not a watch.
const requestTime = 30 * time.Second

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, requestTime)
}
