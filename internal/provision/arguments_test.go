// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest/machinetest"
)

// Each upgrade boots another image. Its deployment has the arguments of the host before the join, and those of the
// payload; a rollback boots the former deployment, whose arguments are known again.
func TestImageRevertsTheArgumentsOfTheFormerPayload(t *testing.T) {
	const firstBoot = `{"spec": {"kernelArguments": ["systemd.unified_cgroup_hierarchy=1", "psi=0", "y=0"]}}`
	type step struct {
		payload  string // the arguments of the payload
		rollBack bool   // to the previous deployment; else the payload's image is staged
		want     string // the command line
	}
	for name, test := range map[string]struct {
		machineConfig, words string
		steps                []step
	}{
		"arguments come and go": {"", "root ro", []step{
			{"psi=0 nosmt", false, "root ro psi=0 nosmt"},
			{"psi=0", false, "root ro psi=0"},
			{"psi=0", false, "root ro psi=0"},
			{"", false, "root ro"},
			{"", false, "root ro"},
		}},
		"arguments that the host had before": {"", "root quiet psi=1 nosmt", []step{
			{"nosmt quiet psi=0 y=1", false, "root quiet nosmt psi=0 y=1"}, {"", false, "root quiet psi=1 nosmt"},
		}},
		"the host had one of two equal arguments": {"", "root y=1", []step{
			{"y=0 y=1", false, "root y=1 y=0 y=1"}, {"", false, "root y=1"},
		}},
		"huge pages": {"", "root", []step{
			{
				"hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4", false,
				"root hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=4",
			},
			{"hugepagesz=1G hugepages=4", false, "root hugepagesz=1G hugepages=4"},
			{"", false, "root"},
		}},
		"a second console": {"", "root console=tty0 console=ttyS0", []step{
			{"console=ttyS1", false, "root console=tty0 console=ttyS0 console=ttyS1"},
			{"", false, "root console=tty0 console=ttyS0"},
		}},
		"a rollback": {"", "root", []step{
			{"psi=0 z=4", false, "root psi=0 z=4"},
			{"y=1", false, "root y=1"},
			{"psi=0 z=4", true, "root psi=0 z=4"},
			{"", false, "root"},
			{"psi=0 z=4", true, "root psi=0 z=4"},
			{"y=1", false, "root y=1"},
		}},
		"a first boot": {firstBoot, "root systemd.unified_cgroup_hierarchy=1 psi=0 y=0 console=tty0", []step{
			{"psi=0", false, "root systemd.unified_cgroup_hierarchy=1 console=tty0 psi=0"},
			{"", false, "root systemd.unified_cgroup_hierarchy=1 console=tty0"},
		}},
		"a rollback to a first boot": {firstBoot, "root psi=0 y=0", []step{
			{"", false, "root"}, {"psi=0 y=0", true, "root psi=0 y=0"}, {"y=0", false, "root y=0"}, {"", false, "root"},
		}},
	} {
		root := t.TempDir()
		if test.machineConfig != "" {
			flowtest.WriteTree(t, root, map[string]string{ignition.AppliedMachineConfigPath: test.machineConfig})
		}
		m := machinetest.Open(t, root)
		m.Facts.OSTree, m.Facts.OS, m.Facts.CgroupV2 = true, hostinfo.OSRelease{Variant: "coreos"}, true
		lines := []string{test.words} // of the deployments, whose serial is the index
		booted := 0
		var images joinstate.Images
		for _, step := range test.steps {
			m.Facts.Cmdline = strings.Fields(lines[booted])
			next := resource.ArgumentChange{Add: strings.Fields(step.payload)}
			i := HostImage{Host: m, Plan: &plan.Plan{Image: &plan.ImageUpdate{
				Booted: deployment.Deployment{Serial: booted}, KernelArguments: next,
			}}}
			if step.rollBack {
				booted = slices.IndexFunc(lines, func(line string) bool { return line == step.want })
				if images.Previous.ID != (deployment.Deployment{Serial: booted}).ID() {
					t.Errorf("%s: the previous deployment is %+v", name, images.Previous)
				}
				images.Arguments, images.Previous = images.Previous.Arguments, nil
				continue
			}
			var words []string
			for range 2 { // the boot can be interrupted
				former, err := i.formerArguments(images)
				flowtest.NoError(t, err)
				words = m.Facts.Cmdline
				if revert := former.revertFor(next); revert != nil {
					words = revert(words)
				}
				flowtest.NoError(t, i.recordDeployments(&images))
			}
			booted = len(lines)
			lines = append(lines, strings.Join(bootloader.Next(words, next.Add, nil), " "))
			if lines[booted] != step.want {
				t.Errorf("%s, %q: %q, want %q", name, step.payload, lines[booted], step.want)
			}
		}
	}
}

// A join that a person reboots records the arguments when it stages the image, and keeps the record if it is repeated
// before the reboot.
func TestRecordArgumentsTwice(t *testing.T) {
	root := t.TempDir()
	flowtest.WriteTree(t, root, map[string]string{
		ignition.AppliedMachineConfigPath: `{"spec": {"kernelArguments": ["psi=0"]}}`,
	})
	m := machinetest.Open(t, root)
	m.Facts.OSTree, m.Facts.OS = true, hostinfo.OSRelease{Variant: "coreos"}
	m.Facts.Cmdline = strings.Fields("root psi=0")
	i := HostImage{Host: m, Plan: &plan.Plan{Image: &plan.ImageUpdate{
		KernelArguments: resource.ArgumentChange{Add: []string{"psi=1"}},
	}}}
	var images joinstate.Images
	for range 2 {
		flowtest.NoError(t, i.recordArguments(&images))
		if before := images.Arguments.Before; !slices.Equal(before, []string{"root"}) || images.Previous != nil {
			t.Errorf("before %q, %+v", before, images.Previous)
		}
	}
}
