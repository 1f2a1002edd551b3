// SPDX-License-Identifier: Apache-2.0

package software

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test reports what a new line of the table lacks.
func TestTableIsComplete(t *testing.T) {
	table := readTable(t)
	for _, w := range table.Workers {
		if w.Source == "" || w.From.IsZero() || !slices.Contains(
			[]SupportLevel{Documented, Undocumented, Discontinued, Unknown}, w.Support,
		) {
			t.Errorf("worker %+v", w)
		}
	}
	names := map[string]bool{}
	for _, r := range table.Repositories {
		names[r.Name] = true
		if id := table.repositoryID(
			r.Name, 9, "x86_64", Release{4, 18},
		); r.Source == "" || !regexp.MustCompile(`^[a-z0-9_.-]+$`).MatchString(id) {
			t.Errorf("repository %+v becomes %s", r, id)
		}
	}
	for _, p := range table.Packages {
		if !names[p.Repository] || p.For == "" || p.Source == "" || !slices.Contains(
			[]string{"required", "wanted", "payload"}, p.Need,
		) || (p.Need == "payload" && p.Program == "") ||
			!slices.Contains([]string{"", "release", "kubernetes"}, p.Version) {
			t.Errorf("package %+v", p)
		}
		if _, err := regexp.Compile(p.Accepts); err != nil || !p.matches(p.Name) {
			t.Errorf("package %s does not accept itself: %v", p.Name, err)
		}
	}
	if len(table.Packages) == 0 || len(table.Workers) == 0 {
		t.Error("the table is empty")
	}
}

// Every kind of worker requires each of these programs exactly once in every release.
func TestEveryWorkerHasRequiredPrograms(t *testing.T) {
	table := readTable(t)
	for _, rhel := range []int{8, 9, 10} {
		for release := range table.Kubernetes {
			count := map[string]int{}
			for _, p := range table.needs(rhel, release, nil) {
				count[p.Name]++
				if p.Program != p.Name {
					count[p.Program]++
				}
			}
			for _, part := range []string{"kubelet", "crio", "conmon", "ovs-vsctl", "container-selinux", "NetworkManager-ovs"} {
				if count[part] != 1 {
					t.Errorf("RHEL %d, %s: %d times %s", rhel, release, count[part], part)
				}
			}
			if count["runc"]+count["crun"] == 0 {
				t.Errorf("RHEL %d, %s: no OCI runtime", rhel, release)
			}
		}
	}
}

func TestNeedsByRelease(t *testing.T) {
	table := readTable(t)
	for _, test := range []struct {
		rhel     int
		release  Release
		has, not string
	}{
		{8, Release{4, 15}, "openshift-hyperkube", "openshift-kubelet"},
		{8, Release{4, 16}, "openshift-kubelet", "openshift-hyperkube"},
		{8, Release{4, 16}, "runc", "crun"},
		{8, Release{4, 17}, "crun", ""},
		{8, Release{4, 18}, "openvswitch3.1", "openvswitch3.5"},
		{9, Release{4, 13}, "openvswitch3.1", "openvswitch3.3"},
		{9, Release{4, 16}, "openvswitch3.3", "openvswitch3.5"},
		{9, Release{4, 17}, "openvswitch3.5", "openvswitch3.3"},
		{9, Release{4, 18}, "crun", "runc"},
		{9, Release{4, 21}, "containernetworking-plugins", "runc"},
		{10, Release{4, 21}, "crun", "runc"},
		{10, Release{4, 21}, "podman", "containernetworking-plugins"},
	} {
		var names []string
		for _, p := range table.needs(test.rhel, test.release, nil) {
			names = append(names, p.Name)
		}
		if !slices.Contains(names, test.has) || slices.Contains(names, test.not) {
			t.Errorf("RHEL %d, %s: with %s and without %s is wanted: %v", test.rhel, test.release, test.has, test.not, names)
		}
	}
}

func TestSupportLevel(t *testing.T) {
	table := readTable(t)
	for _, test := range []struct {
		rhel    int
		release Release
		want    SupportLevel
	}{
		{8, Release{4, 12}, Documented},
		{8, Release{4, 18}, Documented},
		{8, Release{4, 19}, Discontinued},
		{8, Release{5, 0}, Discontinued},
		{9, Release{4, 12}, Unknown},
		{9, Release{4, 13}, Undocumented},
		{9, Release{4, 22}, Undocumented},
		{9, Release{4, 23}, Unknown},
		{9, Release{5, 0}, Unknown},
		{10, Release{4, 18}, Unknown},
		{11, Release{4, 18}, Unknown},
	} {
		if got := table.supportLevel(test.rhel, test.release); got != test.want {
			t.Errorf("RHEL %d, %s: %s, want %s", test.rhel, test.release, got, test.want)
		}
	}
}

func TestRepositoryIDs(t *testing.T) {
	table := readTable(t)
	var got []string
	for _, name := range []string{"baseos", "appstream", "rhocp", "fast-datapath"} {
		got = append(got, table.repositoryID(name, 8, "aarch64", Release{4, 18}))
	}
	want := "rhel-8-for-aarch64-baseos-rpms rhel-8-for-aarch64-appstream-rpms " +
		"rhocp-4.18-for-rhel-8-aarch64-rpms fast-datapath-for-rhel-8-aarch64-rpms"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]Release{
		"4.18": {4, 18}, "4.18.12": {4, 18}, "5.0": {5, 0}, "4.18.0-202501010101": {4, 18},
		"": {}, "4": {}, "4.x": {}, "v4.18": {}, "1.31": {}, "4.-1": {},
	} {
		got, err := ParseRelease(text)
		if got != want || (err == nil) == want.IsZero() {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// The Kubernetes versions of the releases are those of HyperShift: 4.23 and 5.0 are the
// same.
func TestReleasesOfKubernetes(t *testing.T) {
	table := readTable(t)
	for minor, want := range map[int][]Release{
		25: {{4, 12}}, 31: {{4, 18}}, 35: {{4, 22}}, 36: {{5, 0}, {4, 23}}, 37: {{5, 1}}, 38: nil, 0: nil,
	} {
		if diff := cmp.Diff(want, table.releases(minor)); diff != "" {
			t.Errorf("Kubernetes 1.%d (-want +got):\n%s", minor, diff)
		}
	}
}
