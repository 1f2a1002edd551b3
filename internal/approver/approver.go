// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options configure an Approver.
type Options struct {
	Kubeconfig    []byte // of the hosted cluster; not stored
	EnrollmentDir string // directory of the enrollment files; not used for manual approval
	Namespace     string // of the ConfigMap with the usage records
	ConfigMap     string
	// AllowManagementCluster permits a kubeconfig of a cluster that serves HostedClusters.
	AllowManagementCluster bool

	OnEvent  func(Event)       // receives every decision, one call at a time
	OnStatus func(text string) // receives the status text whenever the status changes; may be nil
	OnReady  func()            // is called once, after the first successful resync; may be nil
}

// Event is a decision on a CSR or another message of an approver.
type Event struct {
	Time    time.Time     `json:"time" doc:"time of the event"`
	Outcome Outcome       `json:"outcome" doc:"decision on the CSR; warning and note are not decisions"`
	Node    string        `json:"node,omitempty" doc:"name of the node that the CSR is for"`
	CSR     string        `json:"csr,omitempty" doc:"name of the CSR; absent if the event is not about a CSR"`
	Signer  string        `json:"signer,omitempty" doc:"signer of the CSR"`
	Key     string        `json:"key,omitempty" doc:"fingerprint of the CSR's public key"`
	TokenID string        `json:"joinTokenID,omitempty" doc:"ID of the join token that the CSR proves"`
	Reason  string        `json:"reason,omitempty" doc:"reason for the decision, or the message"`
	Remedy  report.Remedy `json:"remedy,omitempty" doc:"how to resolve a refusal or a warning"`
}

// Outcomes of events that are not decisions.
const (
	Warning Outcome = "warning" // an unusable enrollment, an unreachable API server or a rejected approval
	Note    Outcome = "note"
)

// Approver approves CSRs that match an enrollment.
type Approver struct {
	connection
	options     Options
	usage       usageRecords
	dir         enrollmentDir
	enrollments Enrollments
	health      *health

	reported           reportedReasons
	enrollmentErrors   map[string]bool // problems with enrollments that were already reported; may be nil
	needsResync        bool            // a decision can change without a change of its CSR
	resyncDelay        time.Duration   // until the next resync while needsResync is set
	initialResyncDelay time.Duration   // initial value of resyncDelay
	hasConflict        bool            // another client wrote a CSR while it was approved
	stats              approvalStats   // of the last resync and of the changes since
	approvedCount      int
}

// Open creates an approver from a kubeconfig. It sends no requests to the cluster.
func Open(options Options) (*Approver, error) {
	health := newHealth()
	connection, err := connect(options.Kubeconfig, health.recordProgress)
	if err != nil {
		return nil, err
	}
	return &Approver{
		connection:         connection,
		options:            options,
		usage:              usageRecords{client: connection.client, namespace: options.Namespace, name: options.ConfigMap},
		dir:                enrollmentDir{path: options.EnrollmentDir},
		enrollments:        NewEnrollments(nil),
		health:             health,
		resyncDelay:        minResyncDelay,
		initialResyncDelay: minResyncDelay,
	}, nil
}

func (a *Approver) emit(recorded Event) {
	recorded.Time = time.Now().UTC()
	a.options.OnEvent(recorded)
}

// Maximum lengths of reported texts, parts of which are chosen by the requestor.
const (
	maxNodeNameLength = 253 // of a Node name
	maxReasonLength   = 1000
)

// emitDecision emits the event for a decision. A decision other than an approval is emitted again only
// if its reason has changed.
func (a *Approver) emitDecision(csr *kube.CSR, d Decision) {
	d.Node, d.Reason = truncateTo(maxNodeNameLength, d.Node), truncateTo(maxReasonLength, d.Reason)
	if d.Outcome != Approved {
		if d.Reason == "" || !a.reported.add(csr.UID, d.Reason) {
			return
		}
		a.resyncDelay = a.initialResyncDelay
	}
	a.emit(newEvent(csr, d))
}

// emitApprovalFailure reports that a CSR could not be approved. It reports a CSR again only if the status
// reason of the error changes, because the API server's message can contain a time.
func (a *Approver) emitApprovalFailure(csr *kube.CSR, d Decision, err error) {
	kind := "failed: " + string(apierrors.ReasonForError(err))
	if !a.reported.add(csr.UID, kind) {
		return
	}
	a.resyncDelay = a.initialResyncDelay
	d.Outcome, d.Reason, d.Remedy = Warning, "it cannot be approved: "+err.Error(), "# retried automatically"
	a.emit(newEvent(csr, d))
}

func newEvent(csr *kube.CSR, d Decision) Event {
	recorded := Event{
		Outcome: d.Outcome,
		Node:    d.Node,
		CSR:     csr.Name,
		Signer:  csr.Spec.SignerName,
		Key:     d.Key,
		Reason:  d.Reason,
		Remedy:  d.Remedy,
	}
	if d.Enrollment != nil {
		recorded.TokenID = d.Enrollment.ID
	}
	return recorded
}

// loadEnrollments reads the enrollments and reports each problem with them once.
func (a *Approver) loadEnrollments() {
	enrollments, problems := a.dir.load()
	broken := map[string]bool{}
	for _, problem := range problems {
		broken[problem.Error()] = true
		if !a.enrollmentErrors[problem.Error()] {
			a.emit(Event{Outcome: Warning, Reason: problem.Error(), Remedy: report.RemedyOf(problem)})
		}
	}
	a.enrollments, a.enrollmentErrors = enrollments, broken
}
