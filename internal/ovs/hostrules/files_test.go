// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

func TestRulesOfFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.conf", "# net.ipv4.conf.eth0.proxy_arp = 1\n-net.ipv4.conf.eth0.rp_filter=0\n"+
		"net/ipv6/conf/eth0/accept_ra = 2\n"+
		"net.ipv4.conf.all.rp_filter = 1\nnet.ipv4.conf.eth0/100.rp_filter = 1\nnet.ipv4.conf.eth0.log_martians = 1\n"+
		"net.ipv4.neigh.eth0.gc_stale_time = 60\nnet.ipv4.conf.br-ex.log_martians = 0\nkernel.eth0.a.b.c = 1\n"+
		"net.ipv4.conf.eth*.arp_ignore = 1\nnet.ipv4.conf.*.arp_announce = 2\nnet.ipv4.conf.*.rp_filter = 1\n")
	write("b.conf", "net.ipv4.conf.eth0.rp_filter = 2\n")
	want := []string{
		"net.ipv6.conf.br-ex.accept_ra = 2", "net.ipv4.neigh.br-ex.gc_stale_time = 60", "net.ipv4.conf.br-ex.arp_ignore = 1",
		"net.ipv4.conf.br-ex.rp_filter = 2",
	}
	if diff := cmp.Diff(want, readSysctls("eth0", dir+"/*.conf", dir+"/none")); diff != "" {
		t.Errorf("sysctls (-want +got):\n%s", diff)
	}
	vlan := []string{"net.ipv4.conf.br-ex.rp_filter = 1", "net.ipv4.conf.br-ex.arp_ignore = 1"}
	routed, own := networkmanager.Settings{}, []string{"accept_ra = 0"}
	if got := sysctlsForBridge(want, routed, own); slices.Contains(got, want[0]) || len(got) != len(want)-1 {
		t.Errorf("sysctls of br-ex: %v", got)
	}
	if routed.Set("ipv6", "method", "ignore"); len(sysctlsForBridge(want, routed, own)) != len(want) {
		t.Error("a profile that leaves IPv6 to the kernel keeps no sysctl of the kernel")
	}
	if diff := cmp.Diff(vlan, readSysctls("eth0.100", dir+"/*.conf")); diff != "" {
		t.Errorf("sysctls of a VLAN (-want +got):\n%s", diff)
	}
	const mac = "52:54:00:Aa:00:01"
	write("alone.link", "[Match]\nMACAddress="+mac+"\n[Link]\nName=lan0\n")
	write("type.link", "[Match]\nMACAddress=02:00:00:00:00:01 "+mac+"\nType=ether\n")
	write("named.link", "[Match]\nOriginalName=eth*\nMACAddress="+mac+"\n")
	write("driver.link", "[Match]\nMACAddress="+mac+"\nDriver=virtio_net\n")
	write("blanks.link", "[Match]\nMACAddress = "+mac+"\n")
	write("permanent.link", "[Match]\nPermanentMACAddress="+mac+"\n")
	write("other.link", "[Match]\nMACAddress=52:54:00:aa:00:02\n[Link]\nMACAddress=52:54:00:aa:00:03\n")
	write("70.rules", `SUBSYSTEM=="net", DRIVERS=="?*", ATTR{address}=="52:54:00:aa:00:01", NAME="lan0"`+"\n")
	write("71.rules", `SUBSYSTEM=="net", ACTION=="add", ATTR{address}=="52:54:00:aa:00:01", NAME="lan0"`+"\n")
	write("73.rules", `SUBSYSTEM=="net", ATTR{address}=="52:54:00:aa:00:01", NAME:="lan0"`+"\n")
	write("72.rules", `SUBSYSTEM=="net", ATTR{address}=="52:54:00:aa:00:01", ENV{NM_UNMANAGED}="1"`+"\n")
	files := readMatchFiles("52:54:00:aa:00:01", dir+"/*.link", dir+"/*.rules")
	var remedies []string
	for _, file := range files {
		file.Driver = "virtio_net"
		remedies = append(remedies, strings.ReplaceAll(string(file.remedy()), dir+"/", ""))
	}
	wantRemedies := []string{
		`sed -i '/^\[Match\]/a Driver=virtio_net' alone.link`,
		`sed -i '/^\[Match\]/a Driver=virtio_net' blanks.link`,
		`sed -i '/^\[Match\]/a Driver=virtio_net' type.link`,
		`sed -i 's/ATTR{address}=="52:54:00:aa:00:01"/KERNEL!="br-ex", &/' 71.rules`,
		`sed -i 's/ATTR{address}=="52:54:00:aa:00:01"/KERNEL!="br-ex", &/' 73.rules`,
	}
	if diff := cmp.Diff(wantRemedies, remedies); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, file := range files {
		file.Driver = "virtio_net"
		if output, err := exec.CommandContext(t.Context(), "sh", "-c", string(file.remedy())).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", file.remedy(), err, output)
		}
	}
	if left := readMatchFiles("52:54:00:aa:00:01", dir+"/*.link", dir+"/*.rules"); len(left) > 0 {
		t.Errorf("after the remedies: %v", left)
	}
}

// A file in /etc masks the file of the same name in other directories, and the order is by name.
func TestFilesOfSysctls(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"etc/20-a.conf", "lib/10-b.conf", "lib/20-a.conf", "lib/30-c.conf"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{root + "/lib/10-b.conf", root + "/etc/20-a.conf", root + "/lib/30-c.conf"}
	if diff := cmp.Diff(want, namedFiles(root+"/etc/*.conf", root+"/lib/*.conf")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Only settings that restrict a service to the interface count: others apply to the port of br-ex too.
func TestBindings(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for _, file := range []struct {
		name, content string
		isFound       bool
	}{
		{"10-sshd.conf", "[Service]\nRestrictNetworkInterfaces=lo eth0\n", true},
		{"20-other.conf", "[Service]\nRestrictNetworkInterfaces=lo eth01\n", false},
		{"30-chrony.conf", "hwtimestamp eth0\nbindacqdevice eth0\n", true},
		{"40-chrony.conf", "hwtimestamp eth0\n#bindacqdevice eth0\n", false},
		{"50-offload.conf", "[Service]\nExecStart=/usr/sbin/ethtool -K eth0 gro off\n", false},
	} {
		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(path, []byte(file.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if file.isFound {
			want = append(want, path)
		}
	}
	if diff := cmp.Diff(want, filesWithName("eth0", bindings, dir+"/*.conf")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
