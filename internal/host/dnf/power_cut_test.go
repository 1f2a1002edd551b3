// SPDX-License-Identifier: Apache-2.0

//go:build faults

package dnf_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/test/lossydisk"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
	"github.com/hcp-node-agent/hcp-node-agent/test/seeds"
)

// contentSize is the size of the file in the package of the test.
const contentSize = 300000

// What the real rpm has written is complete after a power cut, on a disk that loses and reorders writes since its last
// flush: the files of an installed package, and rpm's record of it. A power cut during the transaction can damage the
// package, which Damaged returns.
func TestPackagesSurvivePowerCuts(t *testing.T) {
	lossydisk.Run(t, 1, func(t *testing.T, random *rand.Rand) {
		r := lossydisk.Format(t, lossydisk.RandomFileSystem(random)).Record(t)
		b := rpms.New(t)
		root := filepath.Join(b.Dir, "root")
		if err := unix.Mount(r.Points[0], root, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(root, 0); err != nil {
				t.Error(err)
			}
		})
		b.Write("root/etc/dnf/dnf.conf", "[main]\n")
		key := b.GenerateKey("mirror")
		b.Script = fmt.Sprintf("/usr/bin/stand-in\n%%install\nmkdir -p %%{buildroot}/usr/bin\n"+
			"head -c %d /dev/zero | tr '\\0' x >%%{buildroot}/usr/bin/stand-in\n", contentSize)
		b.Build("site", "stand-in-1-1")
		b.Script = ""
		b.Build("site", "existing-1-1")
		b.Sign("site", "mirror")
		b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
		if err := b.Root.Install(t.Context(), "test", nil, "existing"); err != nil {
			t.Fatal(err)
		}
		before := r.Position(t)
		if err := b.Root.Install(t.Context(), "test", nil, "stand-in"); err != nil {
			t.Fatal(err)
		}
		installed := r.Position(t)
		for n := range seeds.Number(t, "CUTS", 6) {
			position := installed
			if n%2 > 0 {
				position = lossydisk.RandomPosition(random, before, installed)
			}
			t.Run(fmt.Sprintf("cut at %d of %d to %d", position, before, installed), func(t *testing.T) {
				checkPackage(t, r.Cut(t, random, position).Mount(t)[0], position == installed)
			})
		}
	})
}

// checkPackage checks the package of the test in a root after a power cut.
func checkPackage(t *testing.T, root string, isInstalled bool) {
	t.Helper()
	host := dnf.Host{Root: root}
	list, err := host.Installed(t.Context(), "stand-in")
	if err != nil || (isInstalled && len(list) != 1) {
		t.Errorf("rpm lists the packages %v, %v", list, err)
	}
	damaged, err := host.Damaged(t.Context(), list...)
	if err != nil || (isInstalled && len(damaged) > 0) {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
	content, _ := os.ReadFile(filepath.Join(root, "usr/bin/stand-in"))
	isComplete := bytes.Equal(content, bytes.Repeat([]byte("x"), contentSize))
	if len(list) > 0 && isComplete != (len(damaged) == 0) {
		t.Errorf("the file of the package has %d bytes; damaged: %v", len(content), damaged)
	}
}
