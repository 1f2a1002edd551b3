// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

// Permission contains the annotations of a Node with which the controller offers user data and permits an upgrade.
type Permission struct {
	Secret string // with the user data of the NodePool; "" if the cluster does not upgrade its nodes
	Next   string // configuration of the user data, whose downloads can be prepared
	Config string // to which the node may be upgraded now, "" for none
	Slot   string // ID of the permission
	// AllowMajor: the image may have another major version of RHEL.
	AllowMajor bool
}

// PermissionIn returns the permission in the annotations of a Node.
func PermissionIn(annotations map[string]string) Permission {
	return Permission{
		Secret: annotations[v1alpha1.AnnotationUserData],
		Next:   annotations[v1alpha1.AnnotationNextConfig],
		Config: annotations[v1alpha1.AnnotationDesiredConfig],
		Slot:   annotations[v1alpha1.AnnotationSlot],

		AllowMajor: annotations[v1alpha1.AnnotationAllowMajor] == strconv.FormatBool(true),
	}
}

// MustUpgrade reports whether the node must be upgraded now. A slot permits one attempt.
func (p Permission) MustUpgrade(current string, last joinstate.Attempt) bool {
	return p.Secret != "" && p.Slot != "" && p.Slot != last.Slot && p.Config != "" && p.Config != current
}

// mustPrepare reports whether the downloads of the next upgrade can be prepared. What has failed is not prepared again.
// On RHEL CoreOS nothing is: the next boot would start a staged image.
func (p Permission) mustPrepare(current string, last joinstate.Attempt, class hostclass.Class) bool {
	hasFailed := last.Config == p.Next && last.Failure != ""
	return p.Secret != "" && p.Slot == "" && p.Next != "" && p.Next != current && !hasFailed &&
		class.Capabilities().StagesEarly
}

const (
	// maxPrepareDelay spreads the downloads of the nodes of a NodePool.
	maxPrepareDelay = 10 * time.Minute
	// prepareRetry is the time after which a failed preparation is repeated.
	prepareRetry = time.Hour
)

// rollout is the part of the service in a rollout: it upgrades the node in the background, so that the service still
// reports to systemd and to the cluster.
type rollout struct {
	begin     func(run func(context.Context)) // in the background, until the service ends
	upgrade   func(ctx context.Context, userData []byte, options upgrade.Options) error
	running   chan struct{} // closed at the end of the run; nil if there was none
	isUpgrade bool          // the run is an upgrade, not a preparation
	progress  progressSink

	prepared  string // configuration that was prepared last, or will be at prepareAt
	prepareAt time.Time
}

// isRunning reports whether a run is in progress.
func (r *rollout) isRunning() bool {
	select {
	case <-r.running: // of a nil channel, never
		return false
	default:
		return r.running != nil
	}
}

// wait waits until the run has ended.
func (r *rollout) wait() {
	if r.running != nil {
		<-r.running
	}
}

// mayPrepare reports whether the preparation of a configuration is due. It is done once, after a random delay.
func (r *rollout) mayPrepare(hash string, now time.Time) bool {
	if r.prepared != hash {
		r.prepared, r.prepareAt = hash, now.Add(rand.N(maxPrepareDelay)) //nolint:gosec // no secret
	}
	if r.prepareAt.IsZero() || now.Before(r.prepareAt) {
		return false
	}
	r.prepareAt = time.Time{}
	return true
}

// checkRollout starts an upgrade if the cluster permits it, or prepares the next one. The upgrade reports its own
// failure. A finding names what prevents it.
func (m *nodeMonitor) checkRollout(ctx context.Context) ([]report.Finding, error) {
	if m.rollout.isRunning() {
		return nil, nil
	}
	annotations, version, err := m.node.Annotations(ctx)
	if err != nil {
		return nil, err
	}
	last, err := joinstate.LoadAttempt(m.StateDir)
	if err != nil {
		return nil, err
	}
	offered := PermissionIn(annotations)
	switch {
	case last.Blocked != "":
		var cause error
		if offered.Next != "" && offered.Next != m.state.ConfigHash {
			cause = m.node.CheckDrain(ctx)
		}
		return updateBlocked(m.StateDir, last, cause)
	case offered.MustUpgrade(m.state.ConfigHash, last):
		if err := m.reportBegin(ctx, version); err != nil {
			return nil, err
		}
		attempt := joinstate.Attempt{Slot: offered.Slot, Config: offered.Config, Begun: time.Now().UTC()}
		if err := attempt.Save(m.StateDir); err != nil {
			return nil, err
		}
		m.log.Note("the cluster permits the upgrade to configuration " + offered.Config)
		m.start(offered, offered.Config, upgrade.Options{AllowMajor: offered.AllowMajor})
	case offered.mustPrepare(m.state.ConfigHash, last, m.class) && m.rollout.mayPrepare(offered.Next, time.Now()):
		m.start(offered, offered.Next, upgrade.Options{Stage: true})
	}
	return nil, nil
}

// updateBlocked records cause as what prevents the upgrade that the cluster offers, and returns a finding about it. If
// cause is nil, the next report requests another slot. It fails with a cause that does not prevent an upgrade.
func updateBlocked(stateDir string, last joinstate.Attempt, cause error) ([]report.Finding, error) {
	blocked := ""
	if errors.Is(cause, node.ErrPodsWouldBeLost) {
		blocked = blockedReason(cause)
	} else if cause != nil {
		return nil, cause
	}
	if blocked != last.Blocked {
		last.Blocked = blocked
		if err := last.Save(stateDir); err != nil {
			return nil, err
		}
	}
	if blocked == "" {
		return nil, nil
	}
	return []report.Finding{newWarning(report.UpgradeBlocked, "rollout", blocked, report.RemedyOf(cause))}, nil
}

// blockedReason returns why an upgrade cannot begin.
func blockedReason(cause error) string {
	return "the node cannot be drained for the upgrade: " + cause.Error()
}

// reportBegin reports that the node begins to upgrade, if the Node still has the version that permits it. The
// controller withdraws a permission only before that.
func (m *nodeMonitor) reportBegin(ctx context.Context, version string) error {
	m.nodeReport = nodeReport{} // the next report must be written
	return m.node.AnnotateVersion(ctx, version, map[string]string{
		v1alpha1.AnnotationState:  string(v1alpha1.AgentUpgrading),
		v1alpha1.AnnotationReason: upgradeRun + " is in progress",
	})
}

// start begins an upgrade or its preparation in the background.
func (m *nodeMonitor) start(offered Permission, hash string, options upgrade.Options) {
	isUpgrade := !options.Stage
	ended := make(chan struct{})
	m.rollout.running, m.rollout.isUpgrade = ended, isUpgrade
	m.rollout.progress.set("")
	client, retryAt := m.node, time.Now().Add(prepareRetry)
	m.rollout.begin(func(ctx context.Context) {
		defer m.requestCheck("")
		defer close(ended)
		userData, drainTimeout, err := PublishedUserData(ctx, client.Conn.Client, offered.Secret, hash)
		if err == nil {
			options.DrainTimeout = drainTimeout
			err = m.rollout.upgrade(ctx, userData, options)
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case isUpgrade:
			m.log.Warn("the upgrade that the cluster permitted failed: "+err.Error(), report.RemedyOf(err))
		default:
			m.rollout.prepareAt = retryAt
			m.log.Note("the next upgrade is not prepared: " + err.Error())
		}
		if isUpgrade {
			err = endAttempt(ctx, m.StateDir, err)
		}
		if err != nil {
			m.log.Note(err.Error())
		}
	})
}

// upgradeTo upgrades the node to new user data, or downloads what that needs, with the settings of the service.
func upgradeTo(ctx context.Context, service request.Options, userData []byte, options upgrade.Options) error {
	service.Config.Timeout, service.Config.UserData = config.Defaults().Timeout, "-"
	service.Stdin, service.Service = bytes.NewReader(userData), true
	options.Options, options.HasInput = service, true
	_, err := upgrade.Upgrade(ctx, options)
	return err
}

// endAttempt records the end of an attempt, unless it is resumed: by the next start of the service, or after a reboot.
// An upgrade that would lose pods has not failed: any user who may run a pod could stop the rollout.
func endAttempt(ctx context.Context, stateDir string, failure error) error {
	left, err := unfinishedRun(stateDir)
	if err != nil || left != "" || ctx.Err() != nil {
		return err
	}
	if errors.Is(failure, node.ErrPodsWouldBeLost) {
		return joinstate.BlockAttempt(stateDir, blockedReason(failure))
	}
	if failure != nil {
		return joinstate.EndAttempt(stateDir, failure.Error())
	}
	return joinstate.EndAttempt(stateDir, "")
}

// closeAttempt records the end of an attempt that a former process has begun and no upgrade continues.
func closeAttempt(stateDir string, state joinstate.State) error {
	last, err := joinstate.LoadAttempt(stateDir)
	switch {
	case err != nil || last.Slot == "" || !last.Ended.IsZero():
		return err
	case last.Config == state.ConfigHash:
		return joinstate.EndAttempt(stateDir, "")
	}
	return joinstate.EndAttempt(stateDir, "the upgrade was interrupted before it changed the host")
}
