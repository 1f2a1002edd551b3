// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// bigPayload returns a payload of the size that HyperShift serves, about 400 kB: 80 files, some
// with sysctls, and 20 units.
func bigPayload() []byte {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same text each time
	var files, units []string
	for i := range 80 {
		var content strings.Builder
		for content.Len() < 3500 {
			fmt.Fprintf(&content, "setting_%d = %x\n", i, random.Uint64())
		}
		path := fmt.Sprintf("/etc/example/%02d.conf", i)
		if i%20 == 0 {
			path = fmt.Sprintf("/etc/sysctl.d/%02d.conf", i)
			content.Reset()
			content.WriteString("net.ipv4.ip_forward = 1\nvm.overcommit_memory=1\n")
		}
		files = append(files,
			fmt.Sprintf(`{"path":%q,"overwrite":true,"mode":420,"contents":{"source":"data:text/plain;charset=utf-8;base64,%s"}}`,
				path, base64.StdEncoding.EncodeToString([]byte(content.String()))))
	}
	for i := range 20 {
		units = append(units,
			fmt.Sprintf(`{"name":"example-%d.service","enabled":true,"contents":"[Unit]\nDescription=%s\nRequires=crio.service\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"}`,
				i, strings.Repeat("word ", 200)))
	}
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]},"systemd":{"units":[%s]}}`,
		strings.Join(files, ","), strings.Join(units, ","))
}

// BenchmarkLoadPayload parses, validates and decodes a payload of 400 kB.
func BenchmarkLoadPayload(b *testing.B) {
	raw := bigPayload()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if p, err := ignition.LoadPayload(raw); err != nil || p.FileCount() != 80 || p.UnitCount() != 20 {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdapt plans a payload of 400 kB for a plain host.
func BenchmarkAdapt(b *testing.B) {
	p, err := ignition.LoadPayload(bigPayload())
	if err != nil {
		b.Fatal(err)
	}
	in := plainHost()
	changes := 0
	for b.Loop() {
		plan, err := ToHost(p, in)
		if err != nil {
			b.Fatal(err)
		}
		changes = len(plan.Changes())
	}
	if changes < 100 {
		b.Errorf("the plan has only %d changes", changes)
	}
	b.ReportMetric(float64(changes), "changes")
}
