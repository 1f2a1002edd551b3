// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func gzipResource(t *testing.T, content []byte) string {
	t.Helper()
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return "data:;base64," + base64.StdEncoding.EncodeToString(out.Bytes())
}

// inlineContent returns a resource with content as a data URL.
func inlineContent(content string) string {
	return `{"source":"data:;base64,` + base64.StdEncoding.EncodeToString([]byte(content)) + `"}`
}

// configOf returns a config of a spec version with these storage.files.
func configOf(version string, files ...string) []byte {
	return fmt.Appendf(nil, `{"ignition":{"version":%q},"storage":{"files":[%s]}}`, version, strings.Join(files, ","))
}

func TestPayloadContents(t *testing.T) {
	hello := []byte("hello, world\n")
	sum512, sum256 := sha512.Sum512(hello), sha256.Sum256(hello)
	tests := []struct{ name, contents, want string }{
		{"percent", `{"source":"data:,hello%2C%20world%0A"}`, "hello, world\n"},
		{"plus is a plus", `{"source":"data:,a+b%2Bc"}`, "a+b+c"},
		{"base64", `{"source":"data:text/plain;charset=utf-8;base64,aGVsbG8sIHdvcmxkCg=="}`, "hello, world\n"},
		{"empty", `{"source":"data:,"}`, ""},
		{"no source", `{}`, ""},
		{"compression is empty", `{"compression":"","source":"data:,a"}`, "a"},
		{"gzip", `{"compression":"gzip","source":"` + gzipResource(t, hello) + `"}`, "hello, world\n"},
		{
			"sha512 of the expanded", `{"compression":"gzip","source":"` + gzipResource(t, hello) +
				`","verification":{"hash":"sha512-` + hex.EncodeToString(sum512[:]) + `"}}`, "hello, world\n",
		},
		{
			"sha256", `{"source":"data:,hello%2C%20world%0A","verification":{"hash":"sha256-` + hex.EncodeToString(sum256[:]) +
				`"}}`, "hello, world\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := LoadPayload(configOf("3.2.0", `{"path":"/etc/a","mode":384,"contents":`+test.contents+`}`))
			if err != nil {
				t.Fatal(err)
			}
			content, mode, ok := p.File("/etc/a")
			if string(content) != test.want || mode != 0o600 || !ok {
				t.Errorf("File = %q, %o, %t; want %q", content, mode, ok, test.want)
			}
			if _, _, ok := p.File("/etc/b"); ok {
				t.Error("a file that is not in the payload was found")
			}
		})
	}
}

func TestLoadPayloadRejectsInvalidConfigs(t *testing.T) {
	file := func(contents string) []byte { return configOf("3.2.0", `{"path":"/etc/a","contents":`+contents+`}`) }
	tests := []struct {
		name string
		raw  []byte
		want string
	}{
		{"empty", nil, "the config is empty"},
		{"no JSON", []byte("<html>"), "the input is not JSON"},
		{"broken JSON", []byte(`{"ignition":x}`), "line 1"},
		{
			"spec 2.2", []byte(`{"ignition":{"version":"2.2.0"}}`),
			"Ignition spec 2.2.0, which is not supported (3.0 to 3.6 are)",
		},
		{"spec 1", []byte(`{"ignitionVersion":1}`), "ignition.version is missing"},
		{"experimental spec", []byte(`{"ignition":{"version":"3.7.0-experimental"}}`), "Ignition spec 3.7.0-experimental"},
		{"relative path", configOf("3.2.0", `{"path":"etc/a"}`), "$.storage.files.0.path, line 1 col 61: path not absolute"},
		{"same path twice", configOf("3.2.0", `{"path":"/a"}`, `{"path":"/a"}`), "duplicate entry"},
		{"bad data URL", file(`{"source":"data:;base64,%%%"}`), "$.storage.files.0.contents.source"},
		{"bad gzip", file(`{"compression":"gzip","source":"data:,hello"}`), "file /etc/a: decompressing the gzip content"},
		{
			"wrong hash", file(`{"source":"data:,a","verification":{"hash":"sha256-` + strings.Repeat("0", 64) + `"}}`),
			"verification failed: the sha256 is",
		},
		{
			"gzip bomb", file(`{"compression":"gzip","source":"` + gzipResource(t, make([]byte, resolve.MaxDecodedBytes+1)) +
				`"}`), "exceeds 64 MiB",
		},
		{
			"content elsewhere", file(`{"source":"https://b.example.com/a?token=hunter2"}`),
			"the config refers to resources on the network, which are not fetched offline: file /etc/a at " +
				"https://b.example.com/a",
		},
		{
			"config elsewhere",
			[]byte(`{"ignition":{"version":"3.4.0","config":{"merge":[{"source":"https://b.example.com/"}]}}}`),
			"merged config 1 at https://b.example.com/",
		},
		{
			"bad MachineConfig", configOf("3.2.0", `{"path":"`+MachineConfigPath+`","contents":{"source":"data:,%5B"}}`),
			"decoding the MachineConfig",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadPayload(test.raw)
			checkFailure(t, err, report.Usage, test.want)
		})
	}
}

func TestLoadPayloadLimitsReportedProblems(t *testing.T) {
	var files []string
	for i := range 8 {
		files = append(files, fmt.Sprintf(`{"path":"relative%d"}`, i))
	}
	_, err := LoadPayload(configOf("3.2.0", files...))
	checkFailure(t, err, report.Usage, "and 3 more")
}

func TestSpecialModeBitsDependOnSpec(t *testing.T) {
	for version, want := range map[string]uint32{"3.0.0": 0o755, "3.5.0": 0o755, "3.6.0": 0o4755} {
		p, err := LoadPayload(configOf(version, `{"path":"/usr/local/bin/a","mode":2541}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, mode, _ := p.File("/usr/local/bin/a"); mode != want {
			t.Errorf("spec %s: mode %o, want %o", version, mode, want)
		}
		if warned := len(p.Warnings) > 0; warned != (want == 0o755) {
			t.Errorf("spec %s: warnings %q", version, p.Warnings)
		}
		if p.Version != version {
			t.Errorf("version %s, want %s", p.Version, version)
		}
	}
}

func TestPayloadUnit(t *testing.T) {
	p, err := LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"systemd":{"units":[
		{"name":"a.service","enabled":true,"contents":"[Service]\nExecStart=/bin/true\n"},
		{"name":"b.service","dropins":[{"name":"1.conf","contents":"[Unit]\n"},{"name":"2.conf","contents":""}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	contents, _, enabled, ok := p.Unit("a.service")
	if !ok || enabled == nil || !*enabled || !strings.Contains(contents, "ExecStart") {
		t.Errorf("a.service: %q, %v, %t", contents, enabled, ok)
	}
	contents, dropins, enabled, ok := p.Unit("b.service")
	if !ok || enabled != nil || contents != "" {
		t.Errorf("b.service: %q, %v, %t", contents, enabled, ok)
	}
	if diff := cmp.Diff(map[string]string{"1.conf": "[Unit]\n", "2.conf": ""}, dropins); diff != "" {
		t.Error(diff)
	}
	if _, _, _, ok := p.Unit("c.service"); ok {
		t.Error("a unit that is not in the payload was found")
	}
	if p.UnitCount() != 2 || p.FileCount() != 0 || len(p.Digest) != 64 {
		t.Errorf("%d units, %d files, digest %s", p.UnitCount(), p.FileCount(), p.Digest)
	}
}

func TestMachineConfig(t *testing.T) {
	p, err := LoadPayload(configOf("3.2.0", `{"path":"`+MachineConfigPath+`","contents":`+inlineContent(
		`{"metadata":{"name":"rendered-1"},"spec":{"osImageURL":"quay.io/os@sha256:1","kernelArguments":["psi=0"],"fips":true,"extensions":["usbguard"],"kernelType":"realtime"}}`)+`}`))
	if err != nil {
		t.Fatal(err)
	}
	want := MachineConfig{
		Name:            "rendered-1",
		OSImageURL:      "quay.io/os@sha256:1",
		KernelArguments: []string{"psi=0"},
		FIPS:            true,
		Extensions:      []string{"usbguard"},
		KernelType:      "realtime",
	}
	if diff := cmp.Diff(want, p.MachineConfig()); diff != "" {
		t.Error(diff)
	}
}
