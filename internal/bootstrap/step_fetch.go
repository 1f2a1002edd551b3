// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// LoadPayload gets the payload of the first source that has one.
func (j *Flow) LoadPayload(ctx context.Context, log report.Log, sources ...payload.Source) error {
	loaded, err := payload.Get(ctx, j.Run.Request, log, sources...)
	if err != nil {
		return err
	}
	j.UsePayload(loaded)
	return nil
}

// UsePayload makes a loaded payload that of the flow. Its software is not known yet.
func (j *Flow) UsePayload(loaded payload.Loaded) {
	j.Loaded, j.Software = loaded, plan.NewSoftware(j.Session, loaded.Payload)
}

// fetchPayload gets the payload from the ignition server, or the payload that an earlier
// run of the same join saved. A restart never needs the token again.
func fetchPayload(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	saved := j.Run.SavedPayload()
	saved.NeedsCredential = !hasClientCertificate(time.Now())
	if err := j.LoadPayload(ctx, log, saved, j.Run.PayloadServer()); err != nil {
		return steps.Outcome{}, discardFailedUserData(j.Run, err)
	}
	if !j.Loaded.IsSaved() && j.before.Hosted && j.before.Phase() == joinstate.PhaseJoined {
		if err := checkSamePayload(j.Run, j.Loaded.Payload); err != nil {
			return steps.Outcome{}, errors.Join(discardFailedUserData(j.Run, err), joinstate.Write(j.Run.Dir, j.before))
		}
	}
	// Save the resources to which the overrides refer. The next run may have no network
	// yet.
	if err := joinstate.SaveOverrides(j.Run.Dir, j.Loaded.Overrides); err != nil {
		return steps.Outcome{}, err
	}
	if j.Loaded.IsSaved() {
		return steps.Unchanged("%s, stored by an earlier run", j.Loaded.Summary())
	}
	if err := joinstate.SaveFile(j.Run.Dir, joinstate.PayloadFile, j.Loaded.Payload.Raw); err != nil {
		return steps.Outcome{}, err
	}
	before := j.Run.State.PayloadDigest
	j.Run.State.PayloadDigest = j.Loaded.Payload.Digest
	j.Run.State.PayloadConfigHash = j.Run.State.ConfigHash
	var err error
	if j.Run.State.PayloadSourceDigest, err = j.Run.UserData.Digest(); err != nil {
		return steps.Outcome{}, err
	}
	for _, warning := range j.Loaded.Payload.Warnings {
		log.Note(warning)
	}
	if before == j.Loaded.Payload.Digest {
		return steps.Unchanged("%s from %s, unchanged", j.Loaded.Summary(), j.Loaded.Payload.Server)
	}
	return steps.Changed("%s from %s", j.Loaded.Summary(), j.Loaded.Payload.Server)
}

// hasClientCertificate reports whether the node has a client certificate that is valid at a time.
func hasClientCertificate(at time.Time) bool {
	certificate, err := identity.ReadCertificate(identity.ClientCertificatePath(identity.PKIDirectory))
	return err == nil && certificate != nil && at.Before(certificate.NotAfter)
}

// renewable are the entries of a payload that a join renews on a host that has joined. The last two repeat the others:
// the first contains the MachineConfig, the second its name, which is a hash of its content (machine-config-operator,
// pkg/server/server.go).
var renewable = []string{
	ignition.BootstrapKubeconfigPath, node.ClientCAPath, pods.PullSecretPath, crio.TrustAnchorsDir,
	"/etc/mcs-machine-config-content.json", "/etc/machine-config-daemon/node-annotations.json",
}

// checkSamePayload fails if the served payload differs from that of the join in more than credentials, CAs and the
// address of the API server. Its changes can require a drain, and files that it does not contain any more must be
// removed.
func checkSamePayload(run *plan.Run, served *ignition.Payload) error {
	raw, err := joinstate.LoadFile(run.Dir, joinstate.PayloadFile)
	if err != nil || raw == nil {
		return err
	}
	installed, err := ignition.LoadPayload(raw)
	if err != nil {
		return nil //nolint:nilerr // the stored payload is damaged; the fetched one replaces it
	}
	fetched, err := ignition.LoadPayload(served.Raw)
	if err != nil {
		return err
	}
	changed := slices.DeleteFunc(ignition.ChangedEntries(installed, fetched), func(name string) bool {
		return slices.ContainsFunc(renewable, func(p string) bool { return hostfs.IsWithin(name, p) }) ||
			onlyMovesAPIServer(run.State, installed, fetched, name)
	})
	if len(changed) == 0 {
		return nil
	}
	source := run.UserDataArgument()
	return report.Fail(report.Refused,
		report.Remedyf("hcp-node-agent plan --user-data %s # prints the changes\nhcp-node-agent upgrade --user-data %s",
			source, source),
		"join does not change the payload of a node, and this one differs in %s", report.AbbreviateList(changed))
}

// onlyMovesAPIServer reports whether a file differs at most in the address of the API server between two payloads.
func onlyMovesAPIServer(state joinstate.State, installed, fetched *ignition.Payload, file string) bool {
	cluster, err := kube.ParseCluster(fetched.BootstrapKubeconfig())
	if err != nil || !slices.Contains(plan.APIServerFiles(), file) {
		return false
	}
	before, mode, _ := installed.File(file)
	after, nextMode, exists := fetched.File(file)
	moved := plan.ReplaceAPIServer(before, append(slices.Clone(state.FormerAPIServers), state.APIServer), cluster.Server)
	return exists && mode == nextMode && bytes.Equal(moved, after)
}

// discardFailedUserData removes user data that failed to fetch a payload from a
// host that has joined. A later join without user data then succeeds with the saved
// payload.
func discardFailedUserData(run *plan.Run, err error) error {
	if run.State.Finished.IsZero() || !run.State.Hosted {
		return err
	}
	return errors.Join(err, joinstate.RemoveFiles(run.Dir, joinstate.UserDataFile))
}
