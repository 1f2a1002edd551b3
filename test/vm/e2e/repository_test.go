// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// repositories builds the package repositories once, beside the logs: another test can build its own at the same time.
var repositories = sync.OnceValues(func() (string, error) {
	out := filepath.Join(logs, "rpm")
	build := exec.Command("../../rpm/repositories.sh", out)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return out, build.Run()
})

// removeAgent removes the files that Install copied to the machine, and puts the package repositories
// into /srv. dnf gets stand-ins for the dependencies that RHEL provides.
func removeAgent(ctx context.Context, t *testing.T) {
	t.Helper()
	dir, err := repositories()
	must(t, err)
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	must(t, archive.AddFS(os.DirFS(dir)))
	must(t, archive.Close())
	must(t, environment.Machine.Put(ctx, "/root/repositories.tar", &content, 0o600))
	mustOutput(ctx, t, `systemctl disable --quiet hcp-node-agent
		rm /usr/bin/hcp-node-agent /usr/lib/systemd/system/hcp-node-agent.service
		systemctl daemon-reload
		tar -C /srv -xf /root/repositories.tar --no-same-owner && rm /root/repositories.tar
		mkdir -p /etc/yum.repos.d
		printf '[standins]\nname=standins\nbaseurl=file:///srv/standins\ngpgcheck=0\n' >/etc/yum.repos.d/standins.repo`)
}

// selectVersion selects the version of the package that dnf finds.
func selectVersion(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	mustOutput(ctx, t, "sed 's,^baseurl=.*,baseurl=file:///srv/"+version+",; s,^gpgkey=.*,gpgkey=file:///srv/"+version+
		"/RPM-GPG-KEY,' /srv/"+version+
		"/hcp-node-agent.repo >/etc/yum.repos.d/hcp-node-agent.repo; dnf clean metadata >/dev/null")
}
