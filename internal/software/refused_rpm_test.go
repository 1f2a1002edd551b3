// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// An unsigned package, or a package signed with an unknown key, is not installed,
// regardless of the repository's configuration.
func TestRealSignatures(t *testing.T) {
	for name, test := range map[string]struct {
		sign     bool
		lines    []string
		code     report.Code
		message  string // of dnf 4
		message5 string // of dnf5, if it is another one
	}{
		"not signed":                 {false, []string{"gpgcheck=1", "gpgkey=KEY"}, report.Refused, "is not signed", ""},
		"neither signed nor checked": {false, []string{"gpgcheck=0", "gpgkey=KEY"}, report.Refused, "is not signed", ""},
		"signed with an unknown key": {
			true, []string{"gpgcheck=0", "gpgkey=KEY"}, report.Refused, "GPG check FAILED", "wrong key?",
		},
		"signed and no key is configured": {
			true,
			[]string{"gpgcheck=0"},
			report.Refused, "you do not have any GPG public keys installed",
			"does not have any OpenPGP keys configured",
		},
		"signed and the key does not exist": {
			true,
			[]string{"gpgcheck=1", "gpgkey=file:///nowhere/key"},
			report.Failed, "Couldn't open file /nowhere/key",
			"No such file or directory [/nowhere/key]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := rpms.New(t)
			known := b.GenerateKey("known")
			b.Build("site", "cri-o-1.31.4-1.el9")
			lines := []string{"enabled=1"}
			for _, line := range test.lines {
				lines = append(lines, strings.ReplaceAll(line, "KEY", "file://"+known))
			}
			if test.sign {
				b.GenerateKey("unknown")
				b.Sign("site", "unknown")
			}
			b.AddRepository("site", lines...)
			err := Install(t.Context(), b.Root, report.Log{}, "cri-o-1.31.*")
			t.Logf("%v\n%s", err, report.RemedyOf(err))
			want := test.message
			if dnf.IsDNF5() {
				want = cmp.Or(test.message5, want)
			}
			if err == nil || report.CodeOf(err) != test.code || !strings.Contains(err.Error(), want) ||
				(test.code == report.Refused) != strings.Contains(
					err.Error(), "a signature could not be verified; nothing was installed: ",
				) {
				t.Errorf("%v", err)
			}
			if got, err := b.Root.Installed(t.Context()); err != nil || slices.Contains(packageNames(got), "cri-o-1.31.4") {
				t.Errorf("the package is installed: %v, %v", got, err)
			}
		})
	}
}

func TestRealMissingPackage(t *testing.T) {
	b := rpms.New(t)
	b.Build("site", "conmon-2.1.12-1.el9")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+b.GenerateKey("known"))
	err := Install(t.Context(), b.Root, report.Log{}, "cri-o-1.31.*")
	t.Log(err)
	want := "Unable to find a match: cri-o-1.31.*"
	if dnf.IsDNF5() {
		want = "No match for argument: cri-o-1.31.*"
	}
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// The message is dnf's, without the password of a URL.
func TestRealUnreachableRepository(t *testing.T) {
	b := rpms.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nothing listens on the port now
	b.ConfigureRepository(
		"site", "enabled=1", "gpgkey=file://"+b.GenerateKey("known"), "baseurl=http://mirror:hunter2@"+address+"/ocp",
	)
	want := "Failed to download metadata for repo 'site'"
	if dnf.IsDNF5() {
		want = `for repository "site": Usable URL not found`
	}
	_, err = Gather(t.Context(), b.Root, rhel9())
	t.Logf("%v\n%s", err, report.RemedyOf(err))
	if report.CodeOf(err) != report.Failed || err == nil || !strings.Contains(
		err.Error(), "a repository is unreachable",
	) ||
		!strings.Contains(
			err.Error(), want,
		) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	err = Install(t.Context(), b.Root, report.Log{}, "cri-o")
	t.Log(err)
	if report.CodeOf(err) != report.Failed || !strings.Contains(
		err.Error(), "***@"+address,
	) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

// Canceling ctx acts as Ctrl-C: dnf exits and leaves nothing installed.
func TestRealCanceledInstall(t *testing.T) {
	b := rpms.New(t)
	b.Build("site", "cri-o-1.31.4-1.el9")
	key := b.GenerateKey("known")
	b.Sign("site", "known")
	b.AddRepository("site", "gpgkey=file://"+key)
	ctx, cancel := context.WithCancel(t.Context())
	files := http.FileServer(http.Dir(filepath.Join(b.Dir, "site")))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".rpm") {
			cancel()
			<-r.Context().Done() // until dnf exits
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	b.ConfigureRepository("site", "enabled=1", "timeout=600", "gpgkey=file://"+key, "baseurl="+server.URL)
	err := Install(ctx, b.Root, report.Log{}, "cri-o")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got, err := b.Root.Installed(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(b.Root.Root, "var/cache/dnf/download_lock.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dnf's lock still exists: %v", err)
	}
}

// If ctx is canceled during a transaction, Install waits until the transaction is complete.
func TestRealTransactionIsCompleted(t *testing.T) {
	b := rpms.New(t)
	b.Script = "%post -p <lua>\nposix.sleep(1)\n"
	b.Build("site", "cri-o-1.31.4-1.el9", "conmon-2-1.el9", "crun-1-1.el9")
	key := b.GenerateKey("known")
	b.Sign("site", "known")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Root.Install(ctx, "test", func(line string) {
		t.Log(line)
		// dnf 4 prints the first line, and dnf5 the second one.
		if strings.Contains(line, "Installing") && (strings.HasSuffix(line, "1/3 ") || strings.HasPrefix(line, "[3/5]")) {
			cancel()
		}
	}, "cri-o", "conmon", "crun")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	got, err := b.Root.Installed(t.Context())
	for _, name := range []string{"cri-o-1.31.4", "conmon-2", "crun-1"} {
		if err != nil || !slices.Contains(packageNames(got), name) {
			t.Errorf("%s is not installed: %v, %v", name, packageNames(got), err)
		}
	}
}
