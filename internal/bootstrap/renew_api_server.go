// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// MoveAPIServer makes kubelet and the static pods use the API server at another URL, which must be that of the same
// cluster. If they do not work with it, it restores the former files and state. It waits for other runs.
func MoveAPIServer(ctx context.Context, options request.Options, server string) error {
	j, err := openRecordedJoin(ctx, options)
	if err != nil {
		return err
	}
	defer j.Host.Close()
	return j.moveAPIServer(ctx, j.storedIdentity(), server, func(ctx context.Context) error {
		if _, err := restartStaticPods(ctx, j.Host.Tree, j.Run.State.NodeName); err != nil {
			return err
		}
		return j.restartKubelet(ctx)
	})
}

// moveAPIServer first writes the state, and kubelet's kubeconfig last: after an interruption, the check of the service
// compares the kubeconfig, and the move is repeated.
func (j *Flow) moveAPIServer(
	ctx context.Context, own *identity.Identity, server string, restart func(context.Context) error,
) error {
	if err := own.CheckMove(ctx, server); err != nil {
		return err
	}
	former := j.Run.State
	j.Run.State.MoveAPIServer(server)
	next, present, err := j.apiServerChanges(ctx)
	if err != nil {
		return err
	}
	local := localAPIServers(ctx, own, present)
	restoreFiles := func(ctx context.Context) error {
		_, err := j.Host.Ledger.Apply(ctx, steps.Files, present)
		return err
	}
	restoreState := func(context.Context) error { return joinstate.Write(j.Run.Dir, former) }
	if err := joinstate.Write(j.Run.Dir, j.Run.State); err != nil {
		return err
	}
	if _, err := j.Host.Ledger.Apply(ctx, steps.Files, next); err != nil {
		return undo(ctx, err, restoreFiles, restoreState)
	}
	restoreKubeconfig, err := own.MoveServer(ctx, server)
	if err != nil {
		return undo(ctx, err, restoreFiles, restoreState)
	}
	bounded, cancel := context.WithTimeout(ctx, apiServerTimeout)
	defer cancel()
	if err = restart(bounded); err == nil {
		err = awaitAPIServer(bounded, own, local)
	}
	if err != nil {
		return undo(ctx, fmt.Errorf("the node keeps its API server, because it does not work with %s: %w", server, err),
			restoreKubeconfig, restoreFiles, restoreState, restart)
	}
	return nil
}

// apiServerChanges returns the changes of the host's files to the recorded API server, and those that restore their
// present content. Files that the administrator has excluded or overridden remain.
func (j *Flow) apiServerChanges(ctx context.Context) (next, present []ledger.Change, err error) {
	for _, file := range plan.APIServerFiles() {
		served, isServed, err := j.servedFile(ctx, file)
		if err != nil {
			return nil, nil, err
		}
		content, info, err := j.Host.Tree.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && !isServed) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		mode := info.Mode
		change := ledger.Change{
			Kind: ledger.File, Target: file, Reason: "payload", Desired: ledger.State{Present: true, Mode: &mode},
		}
		items := j.Host.Ledger.Items()
		if at := slices.IndexFunc(items, func(i ledger.Item) bool { return i.Key() == change.Key() }); at >= 0 {
			change = items[at].Change
		}
		attributes := change.Desired
		change.Desired = attributes.WithContent(content)
		present = append(present, change)
		change.Desired = attributes.WithContent(
			plan.ReplaceAPIServer(served, j.Run.State.FormerAPIServers, j.Run.State.APIServer))
		next = append(next, change)
	}
	return next, present, nil
}

// localAPIServers returns the URLs in files at which static pods serve the API to the node.
func localAPIServers(ctx context.Context, own *identity.Identity, files []ledger.Change) []string {
	var servers []string
	for _, file := range files {
		server := plan.LocalAPIServer(file.Desired.Content)
		if server != "" && own.CheckServer(ctx, server) == nil {
			servers = append(servers, server)
		}
	}
	return servers
}

// awaitAPIServer waits until kubelet renews the lease of the Node, and until static pods serve the API at the URLs.
func awaitAPIServer(ctx context.Context, own *identity.Identity, local []string) error {
	began := own.LastRenewal(ctx)
	for {
		var failure error
		if !own.LastRenewal(ctx).After(began) {
			failure = errors.New("kubelet does not renew the lease of its Node")
		}
		for _, server := range local {
			if failure == nil {
				failure = own.CheckServer(ctx, server)
			}
		}
		if failure == nil {
			return nil
		}
		if wait.Sleep(ctx, time.Second) != nil {
			return failure
		}
	}
}
