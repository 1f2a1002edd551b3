// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print prints a status, without its problems. version is that of this program.
func (s *Status) Print(w *report.Page, version string, now time.Time) {
	line := func(label, format string, args ...any) {
		w.Item(fmt.Sprintf("%-11s", label+":"), report.EscapeLine(fmt.Sprintf(format, args...)))
	}
	ago := func(at time.Time) string { return duration.HumanDuration(max(0, now.Sub(at))) + " ago" }
	if s.Cluster != "" {
		line("replicas", "%d of %d ready, in the %s cluster, namespace %s", s.Ready, s.Replicas,
			s.Cluster, s.Namespace)
		line("image", "%s", s.Image)
	}
	if leader := s.Leader; leader.Holder != "" && leader.Renewed != nil {
		line("leader", "%s, renewed %s", leader.Holder, ago(*leader.Renewed))
	}
	if other := s.Leader.Version; other != "" && other != version {
		line("version", "%s; this program has version %s", other, version)
	} else {
		line("version", "%s", version)
	}
	for _, one := range s.Published {
		text := fmt.Sprintf("%s, release %s, configuration %s, since %s (%s)", one.NodePool, one.Release, one.Config,
			report.Timestamp(one.Since), ago(one.Since))
		if one.Expires != nil {
			text += ", valid until " + report.Timestamp(*one.Expires)
		}
		line("published", "%s", text)
	}
	if len(s.Published) == 0 {
		line("published", "no user data")
	}
	for _, event := range s.Decisions {
		line("decision", "%s, %s of %s: %s", ago(event.Time), event.Reason, event.Name, event.Message)
	}
}
