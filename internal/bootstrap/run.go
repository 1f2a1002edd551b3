package bootstrap

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/watch"
)

// RunOptions are what the service is told.
type RunOptions struct {
	Options
	Version string // of this program, for the metrics
	Metrics string // file for node_exporter's textfile collector; "": none
	// FirstBoot is where a join begins when none is known.
	FirstBoot FirstBoot
}

// Run is the service: it begins a join with what it finds in FirstBoot, or goes
// on with an unfinished one, and then watches the node until ctx ends or the
// host has left the cluster. It changes nothing of the host itself once the join
// has ended.
func Run(ctx context.Context, options RunOptions) error {
	state, err := readState(options.StateDir)
	if err != nil {
		return err
	}
	if err := state.stays(); err != nil {
		return err
	}
	if state.Finished.IsZero() {
		if err := joinPatiently(ctx, options); err != nil {
			return err
		}
		if state, err = readState(options.StateDir); err != nil {
			return err
		}
	}
	options.FirstBoot.tidy(state, report.Log{Sink: options.Sink, Step: "watch"})
	s := &service{RunOptions: options, state: state, kubeconfig: kubelet.KubeconfigPath, log: report.Log{Sink: options.Sink, Step: "watch"}}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.close()
	// Not only when the node is Ready, which can take a day: a unit that is being
	// started is one that joins, which a join by hand stops.
	report.Notify{}.Ready(lookingAt(state.NodeName))
	return (&watch.Watcher{
		Looks: s.looks(), Limit: 2 * time.Minute, Again: 20 * time.Second, Failed: notFoundOut,
		Tell: s.tell, Beat: s.beat, Over: s.over,
	}).Run(ctx)
}

// joinPatiently makes this host a node, however long that takes.
func joinPatiently(ctx context.Context, options RunOptions) error {
	return retrier{
		sink: options.Sink, try: options.try, marks: options.FirstBoot.marks, wait: sleep, tell: report.Notify{}.Status,
	}.join(ctx)
}

// try joins once. Somebody can have joined by hand since the last try.
func (o RunOptions) try(ctx context.Context, sink report.Sink) error {
	state, err := readState(o.StateDir)
	if err != nil || !state.Finished.IsZero() {
		return err
	}
	if err := state.stays(); err != nil {
		return err
	}
	next, err := o.next(state)
	if err != nil {
		return err
	}
	next.Sink, next.Service = sink, true
	_, err = Join(ctx, next)
	return err
}

// next is what the service joins with: it goes on with a join that is known,
// else it begins one.
func (o RunOptions) next(state State) (Options, error) {
	if state.Known() {
		return o.FirstBoot.renewed(o.Options, state)
	}
	next := o.Options
	begun, found, err := o.FirstBoot.configure(next.Config)
	if err != nil {
		return next, err
	}
	if !found {
		return next, report.Fail(report.Usage, "hcp-node-agent join --user-data FILE", "this host has not joined a cluster, so there is nothing to watch")
	}
	next.Config = begun
	return next, nil
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
	case state.NodeName != s.state.NodeName || state.APIServer != s.state.APIServer || s.renewed():
		s.log.Note("this host has joined anew; starting over")
		return true, report.Fail(report.Failed, "", "the join that was watched is not the one of now")
	}
	return false, nil
}

// renewed tells whether a join has changed what the service trusts: the state has
// a cluster's new authorities some steps before kubelet's kubeconfig has them.
func (s *service) renewed() bool {
	now, err := os.ReadFile(s.kubeconfig)
	return err == nil && !bytes.Equal(now, s.trusted) // gone, it is a leave that goes on
}
