// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writers lists the packages that contain what changes a host.
const writers = "host/... kinds ledger ledger/resource machine networkplugin othercluster ovs/migrate"

// readers lists the packages that change nothing, with everything that they use of writers. They get a
// machine.Reader, whose fields have no method that changes anything; nothing in this list opens more.
var readers = map[string]string{
	"doctor": "deployment.CheckStageable deployment.Status ledger.Difference ledger.IsLocked ledger.Item ledger.Unit " +
		"machine.Inspect machine.Reader machine.ServiceUnit migrate.UnfinishedMigration openvswitch.Unit " +
		"systemd.NetworkManagerUnit systemd.UnitState",
	"plan": "bootloader.Split deployment.CheckStageable deployment.Deployment deployment.ReadStorage " +
		"deployment.SkopeoVersion deployment.Status dnf.ExtraProxyVariables dnf.HasRPM dnf.Host dnf.IsAvailable " +
		"dnf.Package dnf.ProxyVariables firewalld.ReadZone firewalld.Zone hostfs.IsWithin " +
		"hostfs.ReadFollowing hostfs.ReadOnlyDirectory hostfs.Reader hostinfo.Facts hostinfo.HasContent " +
		"hostinfo.HasDevice hostinfo.HasFileSystem hostinfo.HasModule hostinfo.HasSysctl hostinfo.IsClockSynchronized " +
		"hostinfo.IsModuleDisabled hostinfo.IsModuleLoaded hostinfo.ParseEnv hostinfo.Sockets hostnet.BestDefaultRoute " +
		"hostnet.DefaultRoutes hostnet.KnownPathMTU hostnet.Link hostnet.LinkAddresses hostnet.Links " +
		"hostnet.TableRoutes kinds.EffectOf kinds.GroupOf kinds.GroupOther kinds.GroupUsers kinds.Of " +
		"ledger.Change ledger.Directory ledger.File ledger.FileChange " +
		"ledger.Item ledger.Kind ledger.PlannedChange ledger.State ledger.Symlink ledger.Sysctl ledger.Unit " +
		"machine.Addresses machine.PluginDirs machine.Reader migrate.Endpoint migrate.Kind " +
		"networkmanager.ParseKeyfile networkmanager.Reader othercluster.Find othercluster.Leftover " +
		"othercluster.Owners othercluster.PackageOwners resource.ArgumentChange resource.DefaultZone systemd.Reader " +
		"systemd.UnitState",
	"preview": "hostfs.NewScratchTree hostfs.Regular hostinfo.Facts hostinfo.OSRelease kinds.Group " +
		"kinds.GroupOf kinds.GroupOther kinds.GroupRuntime kinds.OfflineDrivers ledger.Change ledger.Directory " +
		"ledger.File ledger.Kind ledger.OpenReadOnly ledger.PlannedChange ledger.State machine.Inspect " +
		"machine.OpenReader machine.Reader migrate.Endpoint networkmanager.Settings systemd.Open systemd.UnitState",
	"status": "deployment.Status hostfs.DiskUsage ledger.Publish ledger.PublishedDifference " +
		"machine.OpenReader networkmanager.Reader openvswitch.Unit systemd.NetworkManagerUnit systemd.UnitState",
}

func TestReadersUseNoWriter(t *testing.T) {
	for name, listed := range readers {
		if diff := cmp.Diff(strings.Fields(listed), usedOfWriters(t, name)); diff != "" {
			t.Errorf("%s uses of packages that can change a host (-readers +code):\n%s", name, diff)
		}
	}
}

// usedOfWriters returns the identifiers of writers that a package uses, as PACKAGE.NAME, sorted.
func usedOfWriters(t *testing.T, name string) []string {
	t.Helper()
	found, err := build.ImportDir(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range found.GoFiles {
		syntax, err := parser.ParseFile(token.NewFileSet(), path.Join(name, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		isWriter := map[string]bool{} // by the name in the file
		for _, spec := range syntax.Imports {
			own := strings.TrimPrefix(strings.Trim(spec.Path.Value, `"`), module+"internal/")
			if !slices.ContainsFunc(strings.Fields(writers), func(pattern string) bool { return matches(pattern, own) }) {
				continue
			}
			if isWriter[path.Base(own)] = true; spec.Name != nil {
				t.Errorf("%s/%s imports %s under another name", name, file, own)
			}
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if from, ok := selector.X.(*ast.Ident); ok && isWriter[from.Name] {
					used[from.Name+"."+selector.Sel.Name] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(used))
}
