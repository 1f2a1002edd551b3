// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const workerUnit = `[Unit]
Description=Kubernetes Kubelet

[Service]
Type=notify
Environment="KUBELET_NODE_IP=0.0.0.0"
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-env

ExecStart=/usr/local/bin/kubenswrapper \
    /usr/bin/kubelet \
      --config=/etc/kubernetes/kubelet.conf \
      --node-ip=${KUBELET_NODE_IP} \
      --cloud-provider= \
       \
      --hostname-override=${KUBELET_NODE_NAME} \
      --provider-id=${KUBELET_PROVIDERID}

Restart=always
`

func TestNodeName(t *testing.T) {
	tests := map[string]struct {
		unit     string
		dropIns  []string
		files    map[string]string
		hostname string
		want     string
		wantErr  string
	}{
		"host name, lower-cased": {hostname: "Worker-1.Example.COM", want: "worker-1.example.com"},
		"environment of the unit": {dropIns: []string{"[Service]\nEnvironment=KUBELET_NODE_NAME=from-unit " +
			"OTHER=x\n"}, hostname: "h", want: "from-unit"},
		"quoted environment": {
			dropIns:  []string{"[Service]\nEnvironment=\"KUBELET_NODE_NAME=quoted\"\n"},
			hostname: "h", want: "quoted",
		},
		"file wins over environment": {
			dropIns: []string{"[Service]\nEnvironment=KUBELET_NODE_NAME=unit\n"},
			files:   map[string]string{"/etc/kubernetes/kubelet-env": "KUBELET_NODE_NAME=File\n"}, want: "file",
		},
		"empty assignment resets": {dropIns: []string{
			"[Service]\nEnvironment=KUBELET_NODE_NAME=unit\n",
			"[Service]\nEnvironment=\n",
		}, hostname: "h", want: "h"},
		"later drop-in wins": {dropIns: []string{
			"[Service]\nEnvironment=KUBELET_NODE_NAME=a\n",
			"[Service]\nEnvironment=KUBELET_NODE_NAME=b\n",
		}, want: "b"},
		"not used by the unit": {unit: "[Service]\nEnvironment=KUBELET_NODE_NAME=x\nExecStart=/usr/bin/kubelet " +
			"--config=a\n", hostname: "h", want: "h"},
		"literal override in two words": {unit: "[Service]\nExecStart=/usr/bin/kubelet --hostname-override fixed " +
			"--v=2\n", hostname: "h", want: "fixed"},
		"localhost":  {hostname: "localhost.localdomain", wantErr: "does not identify a machine"},
		"empty":      {hostname: "", wantErr: "the host name is empty"},
		"underscore": {hostname: "worker_1", wantErr: "does not allow"},
		"longer than a label": {
			hostname: strings.Repeat("a", 32) + "." + strings.Repeat("b", 31),
			wantErr:  "64 characters",
		},
		"a bad override is not the host's": {
			dropIns:  []string{"[Service]\nEnvironment=KUBELET_NODE_NAME=localhost\n"},
			hostname: "good", wantErr: "--hostname-override",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unit := test.unit
			if unit == "" {
				unit = workerUnit
			}
			files := UnitFiles{Unit: unit, DropIns: map[string]string{}, File: readerOf(test.files)}
			for i, content := range test.dropIns {
				files.DropIns[strconv.Itoa(i)+".conf"] = content
			}
			got, err := NodeName(files, test.hostname)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("NodeName() error = %v, want one with %q", err, test.wantErr)
				}
				if report.CodeOf(err) != report.Refused || report.RemedyOf(err) == "" {
					t.Errorf("code %d, remedy %q: want a refusal with a remedy", report.CodeOf(err),
						report.RemedyOf(err))
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("NodeName() = %q, %v; want %q", got, err, test.want)
			}
		})
	}
}
