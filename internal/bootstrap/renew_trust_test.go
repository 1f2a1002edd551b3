// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// The CAs that the payload does not contain are in a file of their own, which an upgrade removes too.
func TestAddBundle(t *testing.T) {
	first, second, third := certtest.NewCA(t, "1").PEM, certtest.NewCA(t, "2").PEM, certtest.NewCA(t, "3").PEM
	for name, served := range map[string][]byte{"without CAs": nil, "with a CA": first} {
		t.Run(name, func(t *testing.T) {
			r := startRenewal(t, "", "a")
			files := map[string]string{crio.TrustBundlePath: string(served)}
			flowtest.NoError(t, joinstate.SaveFile(r.Run.Dir, joinstate.PayloadFile, encodeFiles(files)))
			added := filepath.Join(r.Host.Tree.Name(), crio.AddedCAsPath)
			flowtest.NoError(t, os.MkdirAll(filepath.Dir(added), 0o755)) //nolint:gosec // as on a host
			for _, more := range [][]byte{second, slices.Concat(second, third), third} {
				flowtest.NoError(t, r.addBundle(t.Context(), slices.Concat(first, more)))
				want := more
				if served == nil {
					want = slices.Concat(first, more)
				}
				content, err := os.ReadFile(added)
				if err != nil || string(content) != string(want) {
					t.Errorf("%v\n%s\nwant\n%s", err, content, want)
				}
			}
			obsolete := plan.ObsoleteItems(r.Host.Ledger.Items(), nil)
			if last := obsolete[len(obsolete)-1]; last.Target != crio.AddedCAsPath {
				t.Errorf("an upgrade removes %v", obsolete)
			}
			if err := r.addBundle(t.Context(), []byte("no CA")); err == nil {
				t.Error("a bundle that is not valid was accepted")
			}
			if drift, err := r.Host.Ledger.Drift(t.Context()); err != nil || len(drift) > 0 {
				t.Errorf("drift %v, %v", drift, err)
			}
		})
	}
}

// A node whose payload does not contain the file of the bundle, or of which the administrator has excluded it, keeps
// its CAs.
func TestAddBundleRequiresTheFileOfThePayload(t *testing.T) {
	r := startRenewal(t, "", "a")
	err := r.addBundle(t.Context(), certtest.NewCA(t, "1").PEM)
	if err == nil || !strings.Contains(err.Error(), "is not that of the payload") {
		t.Errorf("without the file: %v", err)
	}
	files := map[string]string{crio.TrustBundlePath: ""}
	flowtest.NoError(t, joinstate.SaveFile(r.Run.Dir, joinstate.PayloadFile, encodeFiles(files)))
	r.Run.Config.Payload.Exclude = []string{crio.TrustAnchorsDir + "/*"}
	if err := r.addBundle(t.Context(), certtest.NewCA(t, "1").PEM); err == nil {
		t.Error("a CA was added although the file is excluded")
	}
	if _, err := os.Stat(filepath.Join(r.Host.Tree.Name(), crio.AddedCAsPath)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", crio.AddedCAsPath, err)
	}
}

// A join with the saved payload and a repair keep the added CAs. A join with a new payload removes them, and so does a
// repair if another process has changed the file, which is no drift afterwards.
func TestRemoveAddedBundle(t *testing.T) {
	for name, test := range map[string]struct {
		source  payload.Kind
		change  func(path string) error
		remains string // content; "": the file does not exist
	}{
		"saved payload":        {source: payload.KindSaved, remains: "a CA"},
		"new payload":          {source: payload.KindServer},
		"deleted":              {source: payload.KindSaved, change: os.Remove},
		"changed":              {source: payload.KindSaved, change: overwrite, remains: "other"},
		"changed, new payload": {source: payload.KindServer, change: overwrite, remains: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRenewal(t, "", "a")
			added := filepath.Join(r.Host.Tree.Name(), crio.AddedCAsPath)
			flowtest.NoError(t, os.MkdirAll(filepath.Dir(added), 0o755)) //nolint:gosec // as on a host
			files := map[string]string{crio.TrustBundlePath: ""}
			flowtest.NoError(t, joinstate.SaveFile(r.Run.Dir, joinstate.PayloadFile, encodeFiles(files)))
			ca := certtest.NewCA(t, "1").PEM
			flowtest.NoError(t, r.addBundle(t.Context(), ca))
			if test.change != nil {
				flowtest.NoError(t, test.change(added))
			}
			r.Loaded.Source = test.source
			flowtest.NoError(t, r.removeAddedBundle(t.Context(), report.Log{}))
			content, err := os.ReadFile(added)
			want := strings.ReplaceAll(test.remains, "a CA", string(ca))
			if os.IsNotExist(err) != (want == "") || string(content) != want {
				t.Errorf("%q, %v, want %q", content, err, want)
			}
			if drift, err := r.Host.Ledger.Drift(t.Context()); err != nil || len(drift) > 0 {
				t.Errorf("drift %v, %v", drift, err)
			}
		})
	}
}

func overwrite(path string) error { return os.WriteFile(path, []byte("other"), 0o600) }
