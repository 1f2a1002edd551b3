package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/watch"
)

// RunOptions are what the service is told.
type RunOptions struct {
	Options
	Version string // of this program, for the metrics
	Metrics string // file for node_exporter's textfile collector; "": none
}

// Run is the service: it goes on with an unfinished join, and then watches the
// node until ctx ends or the host has left the cluster. It changes nothing
// itself once the join has ended.
func Run(ctx context.Context, options RunOptions) error {
	state, err := readState(options.StateDir)
	if err != nil {
		return err
	}
	if !state.Known() {
		return report.Fail(report.Usage, "hcp-node-agent join --user-data FILE", "this host has not joined a cluster, so there is nothing to watch")
	}
	if state.Finished.IsZero() {
		unfinished := options.Options
		unfinished.Resume = true
		if _, err := Join(ctx, unfinished); err != nil {
			return err
		}
		if state, err = readState(options.StateDir); err != nil {
			return err
		}
	}
	s := &service{RunOptions: options, state: state, log: report.Log{Sink: options.Sink, Step: "watch"}}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.close()
	report.Notify{}.Ready("watching " + state.NodeName)
	return (&watch.Watcher{
		Looks: s.looks(), Limit: 2 * time.Minute, Again: 20 * time.Second, Failed: notFoundOut,
		Tell: s.tell, Beat: s.beat, Over: s.over,
	}).Run(ctx)
}

// notFoundOut makes a finding of a look that could not be taken.
func notFoundOut(err error) watch.Finding {
	return watch.Finding{Severity: report.SeverityWarning, About: "what could not be found out", Text: err.Error(), Remedy: report.RemedyOf(err)}
}

// over tells whether the host has left the cluster, or joins anew: the next
// start of the service goes on with that.
func (s *service) over() (bool, error) {
	state, err := readState(s.StateDir)
	if err != nil {
		return false, err
	}
	switch {
	case !state.Known():
		s.log.Note("this host has left the cluster; there is nothing to watch any more")
		return true, nil
	case state.NodeName != s.state.NodeName || state.APIServer != s.state.APIServer:
		s.log.Note("this host has joined anew; starting over")
		return true, report.Fail(report.Failed, "", "the join that was watched is not the one of now")
	}
	return false, nil
}
