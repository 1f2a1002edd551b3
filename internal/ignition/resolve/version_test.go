package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6"
	vreport "github.com/coreos/vcontext/report"
	"github.com/google/go-cmp/cmp"
)

// variants returns configs that some specs reject or accept with warnings.
func variants(version string) []string {
	var list []string
	for _, rest := range []string{
		``,
		`,"storage":{"files":[{"path":"/a","mode":2541,"contents":{"source":"data:,a"}}],"directories":[{"path":"/d","mode":2541}]}`,
		`,"storage":{"files":[{"path":"/a","contents":{"source":"data:,a","compression":"gzip"},"append":[{"source":"http://host/a","httpHeaders":[{"name":"A","value":"b"}]}]}]}`,
		`,"storage":{"files":[{"path":"/a","contents":{"source":"arn:aws:s3:::bucket/a"}},{"path":"/b","contents":{"source":"gs://bucket/b"}}]}`,
		`,"storage":{"files":[{"path":"a"},{"path":"/b"},{"path":"/b"}],"links":[{"path":"/l","target":"/b","hard":true}]}`,
		`,"storage":{"luks":[{"name":"a","device":"/dev/a","clevis":{"tpm2":true,"custom":{"pin":"","config":"","needsNetwork":false}}}]}`,
		`,"storage":{"filesystems":[{"device":"/dev/a","format":"none","path":"/a"}],"disks":[{"device":"/dev/b","partitions":[{"label":"x","resize":true}]}]}`,
		`,"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["a","b"],"shouldExist":false}],"groups":[{"name":"g","gid":1,"shouldExist":false}]}`,
		`,"systemd":{"units":[{"name":"a.service","enabled":true,"mask":true,"contents":"[Unit]\n","dropins":[{"name":"b.conf","contents":"[Unit]\nA"}]}]}`,
		`,"systemd":{"units":[{"name":"a.service","enabled":false,"contents":"[Unit]\nDescription=a\n","dropins":[{"name":"b.conf","contents":"[Unit]\nAfter=b\n"}]}]}`,
		`,"kernelArguments":{"shouldExist":["a"],"shouldNotExist":["a"]}`,
		`,"unknown":1,"storage":{"files":[{"path":"/a","unknown":2}]}`,
		`,"storage":{"files":[{"path":1}]}`,
		`,"storage":7`,
		`,`,
	} {
		list = append(list, fmt.Sprintf(`{"ignition":{"version":%q,"timeouts":{"httpTotal":5},"proxy":{"httpProxy":"http://p","noProxy":["a"]}}%s}`, version, rest))
	}
	return append(list,
		fmt.Sprintf(`{"ignition":{"version":%q,"config":{"merge":[{"source":"http://a"},{"source":null}],"append":[]}}}`, version),
		fmt.Sprintf(`{"ignition":{"version":"3.0.0","VERSION":%q}}`, version))
}

// The parser of a config's own spec has the same result as the newest one: the same config,
// report and error.
func TestParseAsMatchesParseCompatibleVersion(t *testing.T) {
	read, refused := 0, 0
	for _, version := range []string{"3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0", "3.6.0", "3.2.1", "3.6.0-experimental", "3.7.0", "3.2.0+a"} {
		for _, raw := range variants(version) {
			if sameAsCompatible(t, raw, []byte(raw)) {
				read++
			} else {
				refused++
			}
		}
	}
	if read < 50 || refused < 50 {
		t.Errorf("%d configs were read and %d refused: they try too little", read, refused)
	}
}

func TestParseAsOfRealPayloads(t *testing.T) {
	names, err := filepath.Glob("../../../../shared/payloads/*.ign")
	if err != nil || len(names) == 0 {
		t.Skipf("no real payloads are laid beside the project: %v", err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, guessed := parseWithFirstVersion(raw); !guessed || !sameAsCompatible(t, name, raw) {
			t.Errorf("%s is not read, or its version is not guessed", name)
		}
	}
}

// A version at the start of the text that is not the config's version is not used.
func TestWrongFirstVersionIsRejected(t *testing.T) {
	for _, raw := range []string{
		`{"passwd":{"users":[{"name":"\"version\":\"3.2.0\""}]},"ignition":{"version":"3.4.0"}}`,
		`{"x":{"version":"3.2.0"},"ignition":{"version":"3.4.0"}}`,
		`{"ignition":{"version":"3.2.0"},"ignition":{"version":"3.4.0"}}`,
	} {
		if _, version, _, err := Parse([]byte(raw)); err != nil || version != "3.4.0" {
			t.Errorf("%s: %q, %v", raw, version, err)
		}
		sameAsCompatible(t, raw, []byte(raw))
	}
}

func FuzzParseAs(f *testing.F) {
	for _, version := range []string{"3.0.0", "3.2.0", "3.6.0"} {
		for _, raw := range variants(version) {
			f.Add([]byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) { sameAsCompatible(t, string(raw), raw) })
}

// sameAsCompatible compares both parsers, and reports whether the config is valid. It prints no
// content, because real payloads contain secrets.
func sameAsCompatible(t *testing.T, name string, raw []byte) bool {
	t.Helper()
	version, _, err := util.GetConfigVersion(raw)
	if err != nil {
		return false
	}
	config, found, err := parseAs(version.String(), raw)
	want, wantFound, wantErr := v3_6.ParseCompatibleVersion(raw)
	if fmt.Sprint(wantErr) != fmt.Sprint(err) {
		t.Errorf("%s: error %v, want %v", name, err, wantErr)
	}
	if !slices.Equal(reportLines(wantFound), reportLines(found)) {
		t.Errorf("%s: another report", name)
	}
	if !cmp.Equal(want, config) {
		t.Errorf("%s: another config", name)
	}
	config, guessed, found, ok := parseWithFirstVersion(raw)
	if ok && (wantErr != nil || guessed != version.String() || !cmp.Equal(want, config) || !slices.Equal(reportLines(wantFound), reportLines(found))) {
		t.Errorf("%s: as spec %s, which was guessed, it is another config (%v)", name, guessed, wantErr)
	}
	return err == nil
}

// reportLines returns the sorted entries of a report, because unknown keys are reported in random
// order.
func reportLines(found vreport.Report) []string {
	return slices.Sorted(strings.SplitSeq(found.String(), "\n"))
}
