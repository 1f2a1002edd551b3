// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/recording"
)

// recordedNodes is the number of nodes of a recording, which fits on one screen.
const recordedNodes = 6

// recordWatch enrolls a few nodes, upgrades them, and records meanwhile what hcp-node-admin nodes --watch prints.
func recordWatch(ctx context.Context, s settings) (err error) {
	f, closing, err := openFleet(ctx, s, newRequestCounter())
	defer func() { err = errors.Join(err, closing()) }()
	if err != nil {
		return err
	}
	if err := errors.Join(f.addNodes(recordedNodes), f.startReplica(ctx, s.program)); err != nil {
		return err
	}
	if err := errors.Join(f.publish(ctx, oldConfig), f.enroll(ctx), f.reportAll(ctx)); err != nil {
		return err
	}
	cast := s.record + ".cast"
	stop, err := f.startRecording(ctx, cast)
	if err != nil {
		return err
	}
	upgraded := f.rollOut(ctx, nil)
	if err := errors.Join(upgraded, sleep(ctx, 2*time.Second), stop()); err != nil { // for the last lines
		return err
	}
	return errors.Join(recording.Draw(cast, s.record, "hcp-node-admin nodes --watch",
		func(string) bool { return false }), os.Remove(cast))
}

// startRecording starts the command that is recorded, and waits until it has printed its table. The returned function
// stops it.
func (f *fleet) startRecording(ctx context.Context, cast string) (stop func() error, err error) {
	file, err := os.Create(cast)
	if err != nil {
		return nil, fmt.Errorf("creating the recording: %w", err)
	}
	recorder, err := recording.NewRecorder(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the recording: %w", err), file.Close())
	}
	const shown = "hcp-node-admin nodes --watch"
	fmt.Fprintf(recorder, "# %s\r\n", shown)
	run := f.settings.program + strings.TrimPrefix(shown, "hcp-node-admin") + " --kubeconfig " + f.plane.Kubeconfig
	command := exec.CommandContext(ctx, "sh", "-c", "exec "+recording.OnTerminal(run))
	command.Stdout, command.Stderr = recorder, os.Stderr
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the command: %w", err), file.Close())
	}
	stop = func() error {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait() // it was interrupted
		return file.Close()
	}
	for {
		content, err := os.ReadFile(cast)
		if err != nil || strings.Contains(string(content), f.nodes[len(f.nodes)-1].name) {
			return stop, err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return stop, err
		}
	}
}
