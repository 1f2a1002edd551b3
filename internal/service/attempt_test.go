// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// An attempt of a former process ends with the state of the node.
func TestCloseAttempt(t *testing.T) {
	begun := time.Unix(1, 0).UTC()
	for name, test := range map[string]struct {
		attempt joinstate.Attempt
		want    joinstate.Attempt
	}{
		"none": {joinstate.Attempt{}, joinstate.Attempt{}},
		"succeeded": {
			joinstate.Attempt{Slot: "7", Config: "11", Begun: begun},
			joinstate.Attempt{Slot: "7", Config: "11", Begun: begun},
		},
		"not begun": {joinstate.Attempt{Slot: "7", Config: "22", Begun: begun}, joinstate.Attempt{
			Slot: "7", Config: "22", Begun: begun, Failure: "the upgrade was interrupted before it changed the host",
		}},
		"ended": {
			joinstate.Attempt{Slot: "7", Config: "22", Begun: begun, Ended: begun, Failure: "x"},
			joinstate.Attempt{Slot: "7", Config: "22", Begun: begun, Ended: begun, Failure: "x"},
		},
	} {
		dir := t.TempDir()
		if test.attempt.Slot != "" {
			flowtest.NoError(t, test.attempt.Save(dir))
		}
		flowtest.NoError(t, closeAttempt(dir, joinstate.State{ConfigHash: "11"}))
		got, err := joinstate.LoadAttempt(dir)
		flowtest.NoError(t, err)
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(joinstate.Attempt{}, "TypeMeta", "Ended")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if test.attempt.Slot != "" && got.Ended.IsZero() {
			t.Errorf("%s: not ended", name)
		}
	}
}

// An attempt that a reboot interrupts ends when the upgrade has been resumed.
func TestAttemptOfUnfinishedUpgrade(t *testing.T) {
	dir := t.TempDir()
	flowtest.NoError(t, joinstate.Attempt{Slot: "7", Config: "22"}.Save(dir))
	unfinished := joinstate.State{Upgrade: &joinstate.Upgrade{}}
	flowtest.NoError(t, joinstate.Write(dir, unfinished))
	flowtest.NoError(t, endAttempt(t.Context(), dir, errors.New("rebooting")))
	if got, err := joinstate.LoadAttempt(dir); err != nil || !got.Ended.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	flowtest.NoError(t, joinstate.Write(dir, joinstate.State{}))
	flowtest.NoError(t, endAttempt(t.Context(), dir, errors.New("rolled back")))
	if got, err := joinstate.LoadAttempt(dir); err != nil || got.Failure != "rolled back" {
		t.Errorf("%+v, %v", got, err)
	}
}
