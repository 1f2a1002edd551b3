// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestStage(t *testing.T) {
	rebase := "proxy rpm-ostree rebase --experimental ostree-unverified-registry:" + repository + "@" + second
	bootcSwitch := "proxy bootc switch " + repository + "@" + second
	index := &Deployment{Image: repository + "@" + second, Digest: third, Checksum: "33"}
	for name, test := range map[string]struct {
		status      Status
		add, remove []string
		rpmOSTree   string // the commands of both backends
		bootc       string
		refusal     string // part of the error
	}{
		"an image": {
			rpmOSTree: rebase, bootc: bootcSwitch,
		},
		"an image with arguments": {
			add: []string{"psi=1", "hugepagesz=1G hugepages=4", "console=ttyS1", "nosmt"}, remove: []string{"quiet nosmt"},
			rpmOSTree: rebase + "; rpm-ostree kargs --delete=quiet --append=psi=1 " +
				"--append=hugepagesz=1G --append=hugepages=4 --append=console=ttyS1",
			bootc: bootcSwitch + "; rpm-ostree kargs --delete=quiet --append=psi=1 " +
				"--append=hugepagesz=1G --append=hugepages=4 --append=console=ttyS1",
		},
		"it is staged":            {status: Status{Staged: imageOf(second)}},
		"it is staged from index": {status: Status{Staged: index}},
		"it is staged, perhaps without its arguments": {
			status: Status{Staged: imageOf(second)}, add: []string{"psi=1"},
			rpmOSTree: "rpm-ostree kargs --append=psi=1", bootc: "rpm-ostree kargs --append=psi=1",
		},
		"it is booted": {status: Status{Booted: *imageOf(second)}},
		"it is booted, but another image is staged": {
			status:  Status{Booted: *imageOf(second), Staged: imageOf(third)},
			refusal: "another deployment is staged, which the agent does not replace: " + repository,
		},
		"it is the previous image": {
			status: Status{Rollback: imageOf(second)}, rpmOSTree: rebase, bootc: bootcSwitch,
		},
		"another image is staged": {
			status: Status{Staged: imageOf(third)}, refusal: "another deployment is staged",
		},
		"a rollback is queued": {
			status:  Status{Rollback: imageOf(second), RollbackQueued: true},
			refusal: "a rollback is queued, so that the next boot runs " + repository,
		},
		"it is booted, but a rollback is queued": {
			status:  Status{Booted: *imageOf(second), Rollback: imageOf(first), RollbackQueued: true},
			refusal: "a rollback is queued",
		},
		"it is staged, but a rollback is queued": {
			status:  Status{Staged: imageOf(second), Rollback: imageOf(third), RollbackQueued: true},
			refusal: "a rollback is queued",
		},
		"layered packages": {
			status:  Status{Booted: Deployment{Image: repository, Digest: first, Checksum: "11", Modified: true}},
			refusal: "packages are layered onto the image",
		},
	} {
		for class, want := range map[hostclass.Class]string{hostclass.CoreOS: test.rpmOSTree, hostclass.Bootc: test.bootc} {
			t.Run(name+" on "+string(class), func(t *testing.T) {
				if test.status.Booted.Digest == "" {
					test.status.Booted = *imageOf(first)
				}
				programs := newPrograms(t, test.status, "", "bootc", "rpm-ostree")
				err := programs.host(t, class).Stage(t.Context(), Target{
					Image: repository + "@" + second, AddArguments: test.add, RemoveArguments: test.remove,
					Environment: []string{"HTTPS_PROXY=http://proxy.example.com"},
				})
				if (err == nil) != (test.refusal == "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
					t.Fatalf("error %v, want %q", err, test.refusal)
				}
				if err != nil && (report.CodeOf(err) != report.Refused || report.RemedyOf(err) == "") {
					t.Errorf("code %d, remedy %q", report.CodeOf(err), report.RemedyOf(err))
				}
				if diff := cmp.Diff(want, programs.commands(t)); diff != "" {
					t.Errorf("commands (-want +got):\n%s", diff)
				}
				if count := strings.Count(want+";", ";"); want != "" && len(programs.lines) != count {
					t.Errorf("progress %q of %d commands", programs.lines, count)
				}
			})
		}
	}
}

func TestStageRefusesBadTargets(t *testing.T) {
	programs := newPrograms(t, Status{Booted: *imageOf(first)}, "", "bootc")
	host := programs.host(t, hostclass.Bootc)
	for image, arguments := range map[string][]string{
		repository + ":latest":             nil,
		repository + "@sha256:1234":        nil,
		repository + "@" + second + "; rm": nil,
		"@" + second:                       nil,
		repository + "@" + second:          {"psi=1"}, // without rpm-ostree
	} {
		if err := host.Stage(t.Context(), Target{Image: image, AddArguments: arguments}); err == nil {
			t.Errorf("%s %q: no error", image, arguments)
		}
	}
	if got := programs.commands(t); got != "" {
		t.Errorf("commands %s", got)
	}
}

func TestStageLinksPullSecret(t *testing.T) {
	const secret = "/var/lib/kubelet/config.json" //nolint:gosec // a path
	for name, test := range map[string]struct {
		before func(file string) error
		want   string // target of the link; "" if the file remains
	}{
		"no file":         {func(string) error { return nil }, secret},
		"its own link":    {func(file string) error { return os.Symlink(secret, file) }, secret},
		"link to no file": {func(file string) error { return os.Symlink("/gone", file) }, secret},
		"link of another": {func(file string) error { return os.Symlink("/etc/other", file) }, "/etc/other"},
		"file of another": {func(file string) error { return os.WriteFile(file, []byte("{}"), 0o600) }, ""},
	} {
		programs := newPrograms(t, Status{Booted: *imageOf(first)}, "", "rpm-ostree")
		file := filepath.Join(programs.root, AuthFile)
		for _, path := range []string{file, filepath.Join(programs.root, "etc/other")} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		err := os.WriteFile(filepath.Join(programs.root, "etc/other"), nil, 0o600)
		if err == nil {
			err = test.before(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		target := Target{Image: repository + "@" + second, PullSecret: secret}
		if err := programs.host(t, hostclass.CoreOS).Stage(t.Context(), target); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.Readlink(file); got != test.want {
			t.Errorf("%s: link to %q, want %q", name, got, test.want)
		}
	}
}

// The arguments of an earlier payload are removed in the deployment of the next image. rpm-ostree deletes the first of
// equal words.
func TestStageRevertsFormerArguments(t *testing.T) {
	rebase := "rpm-ostree rebase --experimental ostree-unverified-registry:" + repository + "@" + second
	for name, test := range map[string]struct {
		former, add []string
		want        string
	}{
		"an argument less": {[]string{"nosmt"}, nil, "; rpm-ostree kargs --delete=nosmt"},
		"another value": {
			[]string{"console=tty0"},
			[]string{"console=ttyS1"},
			"; rpm-ostree kargs --delete=console=tty0 --append=console=ttyS1",
		},
		"one argument remains": {
			[]string{"nosmt", "console=tty0"}, []string{"nosmt"}, "; rpm-ostree kargs --delete=console=tty0",
		},
		"already reverted": {[]string{"psi=1"}, []string{"nosmt"}, ""},
		"only the order differs": {
			[]string{"console=tty0"}, []string{"console=tty0"}, "",
		},
	} {
		programs := newPrograms(t, Status{Booted: *imageOf(first)}, "", "rpm-ostree")
		err := programs.host(t, hostclass.CoreOS).Stage(t.Context(), Target{
			Image: repository + "@" + second, AddArguments: test.add,
			Revert: func(words []string) []string {
				return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(test.former, word) })
			},
		})
		if diff := cmp.Diff(rebase+test.want, programs.commands(t)); diff != "" || err != nil {
			t.Errorf("%s: %v; commands (-want +got):\n%s", name, err, diff)
		}
	}
}
