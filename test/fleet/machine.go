// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// machine is a virtual machine beside the simulated nodes, with the agent, CRI-O and kubelet.
type machine struct {
	*vm.Machine

	name  string
	token []byte
}

// Files in a machine.
const (
	tokenPath  = "/root/node.token" //nolint:gosec // a path
	configPath = "/etc/kubernetes/kubelet.conf"
)

// The setting of kubelet that the payloads of the configurations differ in.
const (
	oldSetting = "containerLogMaxSize: 50Mi"
	newSetting = "containerLogMaxSize: 40Mi"
)

// openMachines starts a cluster with machines. The returned function stops them.
func (f *fleet) openMachines(ctx context.Context) (closing func() error, err error) {
	dir, err := filepath.Abs("build/bench")
	if err != nil {
		return nil, fmt.Errorf("finding the repository: %w", err)
	}
	repository := filepath.Dir(filepath.Dir(dir))
	f.environment, err = testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: dir, Log: os.Stderr, Snapshot: true,
	})
	if err != nil {
		return func() error { return nil }, err
	}
	closing = func() error {
		var errs []error
		for _, m := range f.machines[min(1, len(f.machines)):] { // the environment closes the first one
			errs = append(errs, m.Close())
		}
		return errors.Join(append(errs, f.environment.Close())...)
	}
	f.plane = f.environment.ControlPlane
	f.machines = []*machine{{Machine: f.environment.Machine, name: testenv.NodeName}}
	if err := f.environment.Install(ctx); err != nil {
		return closing, err
	}
	for index := 1; index < f.settings.machines; index++ {
		name := fmt.Sprintf("worker-%d", index)
		added, err := f.environment.AddMachine(ctx, name, filepath.Join(dir, name))
		if err != nil {
			return closing, err
		}
		f.machines = append(f.machines, &machine{Machine: added, name: name})
	}
	return closing, nil
}

// enrollMachines creates the NodeEnrollments of the machines, and copies the join tokens and the user data to them.
func (f *fleet) enrollMachines(ctx context.Context, ca []byte) error {
	userData, err := f.userData(oldConfig)
	if err != nil {
		return err
	}
	for _, m := range f.machines {
		address, err := m.Address(ctx)
		if err != nil {
			return err
		}
		token, record, err := enrollment.New(enrollment.Options{
			NodeName: m.name, ClusterCA: ca, Addresses: enrollment.SinglePrefixes([]netip.Addr{address}),
		}, time.Now())
		if err != nil {
			return err
		}
		record.NodePool = nodePool
		object, err := record.Object()
		if err != nil {
			return err
		}
		if err := f.objects.Create(ctx, object); err != nil {
			return fmt.Errorf("enrolling %s: %w", m.name, err)
		}
		if m.token, err = token.Encode(); err != nil {
			return err
		}
		for path, content := range map[string][]byte{testenv.UserDataPath: userData, tokenPath: m.token} {
			if err := m.Put(ctx, path, bytes.NewReader(content), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinMachines runs the command that joins, in all machines at once.
func (f *fleet) joinMachines(ctx context.Context) error {
	errs := make([]error, len(f.machines))
	var joining sync.WaitGroup
	for i, m := range f.machines {
		joining.Go(func() {
			_, err := m.Output(ctx, "hcp-node-agent join --network-timeout 10m --user-data "+testenv.UserDataPath+
				" --join-token "+tokenPath)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", m.name, err)
			}
		})
	}
	joining.Wait()
	return errors.Join(errs...)
}

// servePayload makes the ignition server serve a payload with another setting of kubelet.
func (f *fleet) servePayload(ctx context.Context) error {
	if len(f.machines) == 0 {
		return nil
	}
	payload, err := f.environment.Payload()
	if err != nil {
		return err
	}
	image, err := f.machines[0].Output(ctx,
		`grep -o '"image": *"[^"]*"' /var/lib/hcp-node-agent/software.json | cut -d'"' -f4`)
	if err != nil {
		return err
	}
	if err := payload.SetOSImage(strings.TrimSpace(image)); err != nil { // the programs remain
		return err
	}
	content, err := payload.File(configPath)
	if err != nil {
		return err
	}
	payload.SetFile(configPath, strings.Replace(content, oldSetting, newSetting, 1))
	changed, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encoding the payload: %w", err)
	}
	return f.plane.ReplacePayload(ctx, changed)
}

// checkMachines checks that the machines have the new payload.
func (f *fleet) checkMachines(ctx context.Context) error {
	var errs []error
	for _, m := range f.machines {
		if _, err := m.Output(ctx, "grep '"+newSetting+"' "+configPath); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}
