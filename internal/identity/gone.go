package identity

import (
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// pendingCSRLifetime is how long a CSR may be pending until the cluster deletes it
// (pendingExpiration in k8s.io/kubernetes/pkg/controller/certificates/cleaner,
// which runs once an hour).
const pendingCSRLifetime = 24 * time.Hour

// deletedText explains why a CSR no longer exists and that it is submitted again.
// asked is the creation time of the deleted CSR, since the creation time of its
// key, now the server's time.
func deletedText(name string, before phase, asked, since, now time.Time) string {
	again := "it is submitted again with the same key, which waits since " + report.Timestamp(since)
	switch {
	case before == phaseApproved:
		return fmt.Sprintf("the client CSR %s was deleted after it was approved and before a certificate was issued; %s", name, again)
	case before == phasePending && now.Sub(asked) >= pendingCSRLifetime:
		return fmt.Sprintf("the client CSR %s of %s was not approved for a day, and the cluster has collected it, as it does with all such; %s", name, report.Timestamp(asked), again)
	}
	return fmt.Sprintf("the client CSR %s was deleted before it was approved; %s", name, again)
}

// waitingSinceText returns a clause about the start of the wait, for a CSR that is not
// the first of its key.
func waitingSinceText(asked, since time.Time) string {
	if asked.Sub(since) < time.Minute {
		return ""
	}
	return ", waiting since " + report.Timestamp(since)
}
