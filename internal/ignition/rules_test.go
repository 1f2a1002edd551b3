package ignition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

func adapted(t *testing.T, config string, edit func(*AdaptInput)) *Plan {
	t.Helper()
	p, err := LoadPayload([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	in := plainHost()
	if edit != nil {
		edit(&in)
	}
	plan, err := Adapt(p, in)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func systemd(units string) string {
	return `{"ignition":{"version":"3.2.0"},"systemd":{"units":[` + units + `]}}`
}

// ruleFor is the rule that a subject's first note names, and its action.
func ruleFor(plan *Plan, subject string) string {
	for _, note := range plan.Notes {
		if note.Subject == subject {
			return string(note.Action) + " " + note.Rule
		}
	}
	return ""
}

// Cases of the table that depend on the state of the host.
func TestRulesOfUnits(t *testing.T) {
	is := func(state string) func(*AdaptInput) {
		return func(in *AdaptInput) { in.UnitFile = func(string) string { return state } }
	}
	tests := []struct {
		name, units string
		edit        func(*AdaptInput)
		rule        string
		enabled     bool
		file        string // that is among the changes
	}{
		{"static", `{"name":"crio.service","enabled":true}`, is("static"), "report static", false, ""},
		{"disabled on the host", `{"name":"crio.service","enabled":true}`, is("disabled"), "", true, ""},
		{"mask taken off", `{"name":"crio.service","enabled":true,"mask":false}`, is("masked"), "change unmask", true, "/etc/systemd/system/crio.service"},
		{"mask that is not there", `{"name":"crio.service","mask":false}`, is("enabled"), "", false, ""},
		{"unit of a missing package", `{"name":"a.service","enabled":true,"dropins":[{"name":"1.conf","contents":"[Unit]\n"}]}`, nil, "", true, "/etc/systemd/system/a.service.d/1.conf"},
		{"disabled and missing", `{"name":"a.service","enabled":false}`, nil, "skip not-installed", false, ""},
		{"mask of a missing unit", `{"name":"a.service","mask":true}`, nil, "", false, "/etc/systemd/system/a.service"},
		{"template with a default", `{"name":"a@.service","enabled":true,"contents":"[Install]\nWantedBy=x.target\nDefaultInstance=b\n"}`, nil, "", true, "/etc/systemd/system/a@.service"},
		{"Install in a drop-in", `{"name":"a.service","enabled":true,"contents":"[Service]\n","dropins":[{"name":"1.conf","contents":"[Install]\nWantedBy=x.target\n"}]}`, nil, "", true, "/etc/systemd/system/a.service"},
		{"alone with Also", `{"name":"a.service","enabled":true,"contents":"[Install]\nAlso=b.service\n"}`, nil, "", true, "/etc/systemd/system/a.service"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := adapted(t, systemd(test.units), test.edit)
			var subject string
			if len(plan.Notes) > 0 {
				subject = plan.Notes[0].Subject
			}
			if got := ruleFor(plan, subject); got != test.rule {
				t.Errorf("rule %q, want %q", got, test.rule)
			}
			if got := len(plan.Units) == 1; got != test.enabled {
				t.Errorf("enabled: %v", plan.Units)
			}
			has := func(c ledger.Change) bool { return c.Target == test.file }
			if test.file != "" && !slices.ContainsFunc(plan.Files, has) {
				t.Errorf("%s is not among the changes: %v", test.file, plan.Files)
			}
		})
	}
}

func TestOldConfigureOVS(t *testing.T) {
	plan := adapted(t, systemd(`{"name":"ovs-configuration.service","enabled":true,"contents":"[Service]\nExecStart=/usr/local/bin/configure-ovs.sh\n[Install]\nRequiredBy=a.target\n"}`), nil)
	if got := ruleFor(plan, "ovs-configuration.service"); got != "add ovs-configuration-old" {
		t.Errorf("rule %q", got)
	}
	i := slices.IndexFunc(plan.Files, func(c ledger.Change) bool {
		return c.Target == "/etc/systemd/system/ovs-configuration.service.d/90-hcp-node-agent.conf"
	})
	if i < 0 || !strings.Contains(string(plan.Files[i].Want.Content), "ConditionPathExists=/enoent\n") {
		t.Errorf("no drop-in keeps it from running: %v", plan.Files)
	}
	if len(plan.Units) != 1 {
		t.Error("it must stay enabled: kubelet-dependencies.target requires it")
	}
}

func TestNmstateStaysWithFiles(t *testing.T) {
	units := `"systemd":{"units":[{"name":"nmstate.service","enabled":true,"contents":"[Install]\nWantedBy=NetworkManager.service\n"}]}`
	with := adapted(t, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/nmstate/bond.yml","contents":{"source":"data:,a"}}]},`+units+`}`, nil)
	without := adapted(t, `{"ignition":{"version":"3.2.0"},`+units+`}`, nil)
	if len(with.Units) != 1 || len(without.Units) != 0 {
		t.Errorf("with files: %v, without: %v", with.Units, without.Units)
	}
}

func TestCoreUserThatExists(t *testing.T) {
	plan := adapted(t, `{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core"}]}}`, func(in *AdaptInput) {
		in.User = func(name string) (int, bool) { return 1000, name == "core" }
	})
	if got := ruleFor(plan, "user core"); got != "skip core-user" {
		t.Errorf("rule %q", got)
	}
}

func TestUnmet(t *testing.T) {
	machine := `{"metadata":{"name":"r"},"spec":{"kernelArguments":["systemd.unified_cgroup_hierarchy=1","cgroup_no_v1=\"all\"","nosmt hugepages=16","a='b'"],"fips":true,"kernelType":"realtime"}}`
	config := `{"ignition":{"version":"3.4.0"},"kernelArguments":{"shouldExist":["quiet"],"shouldNotExist":["mitigations=off"]},` +
		`"storage":{"files":[{"path":"` + encapsulatedPath + `","contents":` + inline(machine) + `}]}}`
	subjects := func(edit func(*AdaptInput)) []string {
		var list []string
		for _, note := range adapted(t, config, edit).Notes {
			if note.Action == Unmet {
				list = append(list, note.Subject)
			}
		}
		return list
	}
	want := []string{"kernel argument systemd.unified_cgroup_hierarchy=1", `kernel argument cgroup_no_v1="all"`, "kernel argument nosmt hugepages=16", "kernel argument a='b'", "kernel argument quiet", "no kernel argument mitigations=off", "kernel type realtime", "FIPS mode: true"}
	got := subjects(func(in *AdaptInput) {
		in.Facts.CgroupV2 = false
		in.Facts.Cmdline = []string{"nosmt", "mitigations=off"}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
	got = subjects(func(in *AdaptInput) {
		in.Facts.FIPS = true
		in.Facts.Cmdline = []string{"quiet", "hugepages=16", "nosmt", "a='b'"}
	})
	if diff := cmp.Diff([]string{"kernel type realtime"}, got); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
	if got := shellQuote("a='b'"); got != `'a='\''b'\'''` {
		t.Errorf("quoted as %s", got)
	}
}

// Which kernel parameters are added follows from kubelet's configuration.
func TestKernelParameters(t *testing.T) {
	kubelet := func(config string) string {
		return fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":%q,"contents":%s}]},"systemd":{"units":[{"name":"kubelet.service","contents":"[Service]\n"}]}}`,
			kubeletConfigPath, inline(config))
	}
	tests := []struct {
		name, config string
		flags, six   bool
	}{
		{"protected, JSON", `{"protectKernelDefaults":true,"clusterDNS":["172.31.0.10"]}`, true, false},
		{"protected, IPv6", `{"protectKernelDefaults":true,"clusterDNS":["fd02::a"]}`, true, true},
		{"not protected", `{"protectKernelDefaults":false}`, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			values := map[string]string{}
			for _, c := range adapted(t, kubelet(test.config), nil).Sysctls {
				values[c.Target] = c.Want.Value
			}
			want := map[string]string{"net.ipv4.ip_forward": "1"}
			if test.flags {
				for name, value := range map[string]string{"vm.overcommit_memory": "1", "vm.panic_on_oom": "0", "kernel.panic": "10", "kernel.panic_on_oops": "1", "kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000"} {
					want[name] = value
				}
			}
			if test.six {
				want["net.ipv6.conf.all.forwarding"] = "1"
			}
			if diff := cmp.Diff(want, values); diff != "" {
				t.Errorf("sysctls (-want +got):\n%s", diff)
			}
		})
	}
	if plan := adapted(t, systemd(""), nil); len(plan.Files) != 0 {
		t.Errorf("a payload without kubelet got %v", plan.Files)
	}
}

func TestPackageOf(t *testing.T) {
	rhel := plainHost().Facts
	rhel.Arch = "arm64"
	for unit, want := range map[string]string{
		"openvswitch.service": "openvswitch3.Y of repository fast-datapath-for-rhel-9-aarch64-rpms",
		"crio.service":        "cri-o of repository rhocp-4.Y-for-rhel-9-aarch64-rpms",
		"chronyd.service":     "chrony",
		"own.service":         "",
	} {
		if got := packageOf(unit, rhel); got != want {
			t.Errorf("packageOf(%s) = %q, want %q", unit, got, want)
		}
	}
	rhel.OS.ID = "centos"
	if got := packageOf("crio.service", rhel); got != "cri-o" {
		t.Errorf("on another distribution: %q", got)
	}
}

func TestTellSkew(t *testing.T) {
	for skew, want := range map[time.Duration]string{
		0: "", 59 * time.Second: "", -59 * time.Second: "",
		time.Hour:    "; this host's clock is 1h0m0s behind the server's",
		-time.Minute: "; this host's clock is 1m0s ahead of the server's",
	} {
		if got := tellSkew(skew); got != want {
			t.Errorf("tellSkew(%s) = %q, want %q", skew, got, want)
		}
	}
}

// Every rule of the table has what it needs, and a name of its own.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules() {
		if seen[r.name] || r.name == "" || r.reason == "" || r.effect == "" {
			t.Errorf("rule %q is incomplete, or there twice", r.name)
		}
		seen[r.name] = true
		if (r.kind == kindHost) != (len(r.match) == 0) || (r.effect == addition) != (r.add != nil && r.name != "unmask") {
			t.Errorf("rule %q: what it matches or adds does not fit its kind", r.name)
		}
	}
}
