package entries

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Each case was measured with systemctl 252: `--root R is-enabled UNIT` succeeds
// or not, and which links `--root R disable UNIT` then leaves.
func TestDisable(t *testing.T) {
	const (
		wanted = `[Install]\nWantedBy=x.target\n`
		vendor = "/usr/lib/systemd/system/"
		local  = "/etc/systemd/system/"
	)
	for name, c := range map[string]struct {
		tree    string
		unit    string
		enabled bool
		left    []string
	}{
		"no unit":                        {"", "a.service", false, nil},
		"disabled":                       {"f " + vendor + "a.service =" + wanted, "a.service", false, nil},
		"static":                         {"f " + vendor + `a.service =[Service]\n`, "a.service", true, nil},
		"install rules in a drop-in":     {"f " + vendor + `a.service =[Service]\n` + "\nf " + local + "a.service.d/1.conf =" + wanted, "a.service", false, nil},
		"a drop-in of the same name":     {"f " + vendor + `a.service =[Service]\n` + "\nf " + local + `a.service.d/1.conf =[Unit]\n` + "\nf " + vendor + "a.service.d/1.conf =" + wanted, "a.service", true, nil},
		"rules that are taken back":      {"f " + vendor + `a.service =[Install]\nWantedBy=x.target\nWantedBy=\n`, "a.service", true, nil},
		"rules on a continued line":      {"f " + vendor + `a.service =[Install]\nWantedBy=\\\n# why\n x.target\n`, "a.service", false, nil},
		"rules in another section":       {"f " + vendor + `a.service =[Install]\n[Unit]\nWantedBy=x.target\n`, "a.service", true, nil},
		"enabled":                        {"f " + vendor + "a.service =" + wanted + "\nl " + local + "x.target.wants/a.service =" + vendor + "a.service\nl " + local + "x.target.wants/b.service =/x", "a.service", true, []string{local + "x.target.wants/b.service"}},
		"enabled, by a dangling link":    {"f " + vendor + "a.service =" + wanted + "\nl " + local + "y.target.requires/a.service =../nowhere/a.service", "a.service", true, nil},
		"enabled at run time only":       {"f " + vendor + "a.service =" + wanted + "\nl /run/systemd/system/x.target.wants/a.service =" + vendor + "a.service", "a.service", true, []string{"/run/systemd/system/x.target.wants/a.service"}},
		"wanted by the vendor only":      {"f " + vendor + "a.service =" + wanted + "\nl " + vendor + "x.target.wants/a.service =../a.service", "a.service", false, []string{vendor + "x.target.wants/a.service"}},
		"an alias that enabling made":    {"f " + vendor + `a.service =[Install]\nAlias=b.service\n` + "\nl " + local + "b.service =" + vendor + "a.service", "a.service", true, nil},
		"an alias of another's making":   {"f " + vendor + "a.service =" + wanted + "\nl " + local + "b.service =" + vendor + "a.service", "a.service", true, nil},
		"asked for by an alias":          {"f " + vendor + "a.service =" + wanted + "\nl " + local + "b.service =" + vendor + "a.service", "b.service", true, nil},
		"an alias of another type":       {"f " + vendor + "a.socket =" + wanted + "\nl " + local + "b.service =" + vendor + "a.socket", "b.service", false, []string{local + "b.service"}},
		"an alias of itself":             {"f " + vendor + `a.service =[Service]\n` + "\nl " + local + "a.service =" + vendor + "a.service", "a.service", false, []string{local + "a.service"}},
		"masked":                         {"f " + vendor + `a.service =[Service]\n` + "\nl " + local + "a.service =/dev/null", "a.service", false, []string{local + "a.service"}},
		"masked by an empty file":        {"f " + vendor + "a.service =", "a.service", false, nil},
		"linked":                         {"f /opt/a.service =" + wanted + "\nl " + local + "a.service =/opt/a.service", "a.service", false, []string{local + "a.service"}},
		"linked and enabled":             {"f /opt/a.service =" + wanted + "\nl " + local + "a.service =/opt/a.service\nl " + local + "x.target.wants/a.service =/opt/a.service", "a.service", true, nil},
		"with what it lists":             {"f " + vendor + `a.service =[Install]\nAlso=%p.socket c.timer\n` + "\nf " + vendor + "a.socket =" + wanted + "\nl " + local + "x.target.wants/a.socket =" + vendor + "a.socket\nl " + local + "x.target.wants/c.timer =" + vendor + "c.timer", "a.service", true, nil},
		"an instance":                    {"f " + vendor + "t@.service =" + wanted + "\nl " + local + "x.target.wants/t@a.service =" + vendor + "t@.service\nl " + local + "x.target.wants/t@b.service =" + vendor + "t@.service", "t@a.service", true, []string{local + "x.target.wants/t@b.service"}},
		"a template, by an instance":     {"f " + vendor + `t@.service =[Install]\nWantedBy=x.target\nDefaultInstance=a\n` + "\nl " + local + "x.target.wants/t@a.service =" + vendor + "t@.service\nl " + local + "x.target.wants/t@b.service =/x", "t@.service", true, nil},
		"a linked template, an instance": {"f /opt/t@.service =" + wanted + "\nl " + local + "t@.service =/opt/t@.service\nl " + local + "x.target.wants/t@b.service =/opt/t@.service", "t@.service", false, []string{local + "t@.service", local + "x.target.wants/t@b.service"}},
		"instances as Ignition asks":     {"f " + vendor + "t@.service =" + wanted + "\nl " + local + "x.target.wants/t@a.service =" + vendor + "t@.service", systemctlName("t@.service a b"), false, []string{local + "x.target.wants/t@a.service"}},
		"static ones, likewise":          {"f " + vendor + `t@.service =[Service]\n` + "\nl " + local + "x.target.wants/t@a.service =" + vendor + "t@.service", systemctlName("t@.service a b"), true, []string{local + "x.target.wants/t@a.service"}},
		"a drop-in that is none":         {"f " + vendor + `a.service =[Service]\n` + "\nd " + local + "a.service.d/1.conf", "a.service", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree, root := newTree(t, c.tree)
			s := newScene(tree)
			enabled, err := s.disable(c.unit)
			must(t, err)
			if enabled != c.enabled {
				t.Errorf("enabled: %v", enabled)
			}
			var left []string
			for line := range strings.Lines(listing(t, root)) {
				p := strings.Fields(line)[1]
				if n, err := s.lstat(p); err == nil && n.kind == host.Symlink {
					left = append(left, p)
				}
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("links left (-want +got):\n%s", diff)
			}
		})
	}
}
