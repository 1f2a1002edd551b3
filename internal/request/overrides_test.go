// SPDX-License-Identifier: Apache-2.0

package request

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A run uses the given overrides or, if it resumes a join, the saved ones. A join
// that starts over without overrides has none.
func TestReadOverrides(t *testing.T) {
	begun := joinstate.State{Started: time.Now()}
	kept := []joinstate.Override{{Name: "/gone/kept.ign", Config: []byte(firstOverride)}}
	userData := flowtest.WriteTempFile(t, flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11"))
	for name, test := range map[string]struct {
		config config.Join
		state  joinstate.State
		resume bool
		want   []string // configs of the overrides
	}{
		"none": {config.Join{UserData: userData}, joinstate.State{}, false, nil},
		"given": {
			config.Join{UserData: userData, IgnitionOverrides: []string{flowtest.WriteTempFile(t, []byte(secondOverride)), "-"}},
			joinstate.State{},
			false,
			[]string{secondOverride, firstOverride},
		},
		"resumed":         {config.Join{}, begun, false, []string{firstOverride}},
		"resumed at boot": {config.Join{}, begun, true, []string{firstOverride}},
		"resumed, their files gone": {
			config.Join{UserData: "/gone/stub", IgnitionOverrides: []string{"/gone/kept.ign"}},
			begun, true,
			[]string{firstOverride},
		},
		"resumed with another": {
			config.Join{IgnitionOverrides: []string{flowtest.WriteTempFile(t, []byte(secondOverride))}},
			begun, false,
			[]string{secondOverride},
		},
		"started again with another": {
			config.Join{UserData: userData, IgnitionOverrides: []string{flowtest.WriteTempFile(t, []byte(secondOverride))}},
			begun, false,
			[]string{secondOverride},
		},
		"started again without": {config.Join{UserData: userData}, begun, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := joinstate.SaveOverrides(dir, kept); err != nil {
				t.Fatal(err)
			}
			if err := joinstate.SaveFile(dir, joinstate.UserDataFile,
				flowtest.EncodeUserData(t, "kept.example.com", "clusters/kept", "22")); err != nil {
				t.Fatal(err)
			}
			in, err := Read(t.Context(), Options{
				Config:   test.config,
				StateDir: dir,
				Resume:   test.resume,
				Stdin:    strings.NewReader(firstOverride),
			}, test.state, UserDataRequired)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range in.Overrides {
				got = append(got, string(one.Config))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadOverridesAreRefused(t *testing.T) {
	userData := flowtest.WriteTempFile(t, flowtest.EncodeUserData(t, "a.example.com", "clusters/one", "11"))
	bad := flowtest.WriteTempFile(t,
		[]byte("{\"ignition\":{\"version\":\"3.2.0\"},\n\"storage\":{\"files\":[{\"path\":\"etc/hunter2\"}]}}"))
	for name, test := range map[string]struct {
		names []string
		want  string
	}{
		"no such file": {[]string{"/gone/site.ign"}, "--ignition-override: open /gone/site.ign"},
		"empty":        {[]string{flowtest.WriteTempFile(t, nil)}, "is empty"},
		"no config":    {[]string{flowtest.WriteTempFile(t, []byte(`{"ignition":x}`))}, "line 1"},
		"bad path": {
			[]string{flowtest.WriteTempFile(t, []byte(firstOverride)), bad}, bad + `": not a valid Ignition config: `,
		},
		"its line":       {[]string{bad}, "line 2 col"},
		"stdin twice":    {[]string{"-", "-"}, "can read standard input"},
		"other spec":     {[]string{flowtest.WriteTempFile(t, []byte(`{"ignition":{"version":"2.3.0"}}`))}, "spec 2.3.0"},
		"not even a dir": {[]string{t.TempDir()}, "--ignition-override"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(t.Context(), Options{
				Config:   config.Join{UserData: userData, IgnitionOverrides: test.names},
				StateDir: t.TempDir(),
				Stdin:    strings.NewReader(firstOverride),
			}, joinstate.State{}, UserDataRequired)
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Usage {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
		})
	}
}

// Saved overrides must be protected as secrets, and must be removed with the join.
func TestOverridesAreSaved(t *testing.T) {
	dir := t.TempDir()
	list := []joinstate.Override{
		{Name: "a.ign", Config: []byte(firstOverride)},
		{Name: "-", Config: []byte(secondOverride)},
	}
	if err := joinstate.SaveOverrides(dir, list); err != nil {
		t.Fatal(err)
	}
	got, err := savedOverrides(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, joinstate.OverridesFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := joinstate.SaveOverrides(dir, nil); err != nil {
		t.Fatal(err)
	}
	if got, err = savedOverrides(dir); err != nil || got != nil {
		t.Errorf("a # join without overrides keeps those before: %v, %v", got, err)
	}
	if err := joinstate.SaveFile(dir, joinstate.OverridesFile, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := savedOverrides(dir); report.CodeOf(err) != report.Usage {
		t.Errorf("a damaged file: %v", err)
	}
}

const (
	firstOverride  = `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/first","mode":384,"contents":{"source":"data:,a"}}]}}`
	secondOverride = `{"ignition":{"version":"3.6.0"},"storage":{"files":[{"path":"/etc/second","mode":384,"contents":{"source":"data:,b"}}]}}`
)
