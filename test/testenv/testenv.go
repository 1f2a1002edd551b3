// SPDX-License-Identifier: Apache-2.0

// Package testenv combines a control plane and a virtual machine with the agent installed, as the
// test environment of the demonstration and of the end-to-end tests.
package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// Options configure an Environment.
type Options struct {
	Repository string    // root of the checkout
	Dir        string    // for logs, which are kept
	Log        io.Writer // receives the output of the builds
	Snapshot   bool      // load the machine from its snapshot, within seconds
	Class      vm.Class  // of a machine that boots from an OSTree deployment; "" for package mode
	Bin        string    // of the control plane, as in bed.Options
	Stack      string    // address families of the cluster, see bed.Options

	// Disk is the image of a foreign host, see vm.Config. If the class is vm.RHCOS, Ignition configures it.
	Disk     string
	Emulated bool

	// CPUs and MemoryMiB are the size of the machine. The defaults are those of vm.Config.
	CPUs, MemoryMiB int
}

// Environment is a running control plane and a running machine.
type Environment struct {
	ControlPlane *bed.ControlPlane
	Machine      *vm.Machine
	Client       kubernetes.Interface // with the rights of the cluster administrator

	repository string
	class      vm.Class
	image      string // directory of the machine's image
}

// NodeName is the name of the machine and of its Node.
const NodeName = "worker-0"

// NetworkTimeout is the value of --network-timeout in a machine. Under emulation beside other machines, the migration
// into br-ex can take longer than the default timeout.
const NetworkTimeout = "5m"

// Paths in the machine of the two files that an administrator provides.
const (
	UserDataPath           = "/root/user-data.ign"
	ApproverKubeconfigPath = "/root/approver.kubeconfig"
)

// Commands for a machine.
const (
	// JoinCommand joins with the user data, and approves the CSRs as an administrator.
	JoinCommand = "hcp-node-agent join --network-timeout " + NetworkTimeout + " --user-data " + UserDataPath +
		" --approve-with " + ApproverKubeconfigPath
	// AwaitIdle waits until the processors are idle most of the time, because pods start for a minute after a join. It
	// waits two minutes at most.
	AwaitIdle = `for i in $(seq 24); do [ "$(vmstat 5 2 | awk 'END {print $15}')" -lt 70 ] || break; done`
)

// Open starts a control plane and a machine in its network.
func Open(ctx context.Context, options Options) (*Environment, error) {
	s := &Environment{repository: options.Repository, class: options.Class}
	if err := s.open(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Environment) open(ctx context.Context, options Options) error {
	var err error
	s.ControlPlane, err = bed.Start(ctx, bed.Options{
		Bin: options.Bin, Dir: filepath.Join(options.Dir, "control-plane"), Stack: options.Stack,
	})
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.ControlPlane.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	if s.Client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	switch {
	case options.Disk != "":
	case s.class == "":
		s.image, err = vm.BuildImage(ctx, options.Repository, options.Log)
	default:
		s.image, err = vm.BuildOSTreeImage(ctx, options.Repository, s.class, options.Log)
	}
	if err != nil {
		return err
	}
	start := vm.Start
	if options.Snapshot {
		start = vm.FromSnapshot
	}
	s.Machine, err = start(ctx, vm.Config{
		Image: s.image, Disk: options.Disk, Ignition: s.class == vm.RHCOS, Emulated: options.Emulated,
		Name: NodeName, Dir: filepath.Join(options.Dir, "machine"),
		Network: vm.Network{Namespace: s.ControlPlane.Netns, Bridge: s.ControlPlane.Bridge},
		CPUs:    options.CPUs, MemoryMiB: options.MemoryMiB,
	})
	if err != nil {
		return err
	}
	_, err = s.Machine.WaitBoot(ctx)
	return err
}

// Install installs the agent and its unit in the machine, as the package does. If /usr is read-only, they are installed
// where /usr has a link to the agent, and systemd finds the unit.
func (s *Environment) Install(ctx context.Context) error {
	programs, units := "/usr/bin/", "/usr/lib/systemd/system/"
	if s.class != "" {
		programs, units = "/usr/local/bin/", "/etc/systemd/system/"
	}
	for _, file := range []struct {
		from, to string
		mode     os.FileMode
	}{
		{"bin/hcp-node-agent", programs + "hcp-node-agent", 0o755},
		{"systemd/hcp-node-agent.service", units + "hcp-node-agent.service", 0o644},
	} {
		content, err := os.ReadFile(filepath.Join(s.repository, file.from))
		if err != nil {
			return fmt.Errorf("reading a file to install (make build creates the binaries): %w", err)
		}
		if err := s.Machine.Put(ctx, file.to, bytes.NewReader(content), file.mode); err != nil {
			return err
		}
	}
	_, err := s.Machine.Output(ctx, "systemctl daemon-reload && systemctl enable hcp-node-agent.service")
	return err
}

// AddMachine starts another machine in the network of the control plane, and installs the agent in it. The caller
// closes the machine.
func (s *Environment) AddMachine(ctx context.Context, name, dir string) (*vm.Machine, error) {
	machine, err := vm.FromSnapshot(ctx, vm.Config{
		Image: s.image, Name: name, Dir: dir,
		Network: vm.Network{Namespace: s.ControlPlane.Netns, Bridge: s.ControlPlane.Bridge},
	})
	if err != nil {
		return nil, err
	}
	added := *s
	added.Machine = machine
	if err := added.Install(ctx); err != nil {
		return nil, errors.Join(err, machine.Close())
	}
	return machine, nil
}

// CopyInputs copies new user data and the approver's kubeconfig to the machine.
func (s *Environment) CopyInputs(ctx context.Context) error {
	userData, err := s.ControlPlane.CurrentUserData(ctx)
	if err != nil {
		return fmt.Errorf("getting user data: %w", err)
	}
	approver, err := s.NodeSideKubeconfig(s.ControlPlane.ApproverKubeconfig)
	if err != nil {
		return err
	}
	if err := s.Machine.Put(ctx, UserDataPath, bytes.NewReader(userData), 0o600); err != nil {
		return err
	}
	return s.Machine.Put(ctx, ApproverKubeconfigPath, bytes.NewReader(approver), 0o600)
}

// NodeSideKubeconfig returns a kubeconfig with the API server's address in the machine's network.
func (s *Environment) NodeSideKubeconfig(path string) ([]byte, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = s.ControlPlane.NodeSideServer
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing kubeconfig: %w", err)
	}
	return content, nil
}

// Close stops the machine and the control plane.
func (s *Environment) Close() error {
	var errs []error
	if s.Machine != nil {
		errs = append(errs, s.Machine.Close())
	}
	if s.ControlPlane != nil {
		errs = append(errs, s.ControlPlane.Close())
	}
	return errors.Join(errs...)
}
