// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadStorage(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\n" +
		`[ "$*" = "refs --repo=` + root + `/sysroot/ostree/repo" ] || exit 1` + "\n" +
		"echo ostree/container/blob/sha256_3A_" + strings.Repeat("1", 64) + "\n" +
		"echo ostree/container/image/docker_3A__2F__2F_quay_2E_io/os\necho ostree/0/1/0\n"
	files := map[string]string{
		filepath.Join(bin, "ostree"):                                 script,
		filepath.Join(root, "boot/ostree/rhcos-aaaa/vmlinuz"):        strings.Repeat("k", 100),
		filepath.Join(root, "boot/ostree/rhcos-aaaa/initramfs.img"):  strings.Repeat("i", 700),
		filepath.Join(root, "boot/ostree/rhcos-bbbb/initramfs.img"):  strings.Repeat("i", 500),
		filepath.Join(root, "boot/ostree/other-aaaa/initramfs.img"):  strings.Repeat("i", 50),
		filepath.Join(root, "boot/efi/EFI/redhat/grubx64.efi"):       strings.Repeat("g", 9000),
		filepath.Join(root, "sysroot/ostree/repo/objects/aa/b.file"): "content",
	}
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // one must be executable
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	got, err := readStorage(t.Context(), root, "rhcos-aaaa")
	if err != nil {
		t.Fatal(err)
	}
	if got.Size == 0 || got.Free == 0 || got.BootFree == 0 {
		t.Errorf("file systems %+v", got)
	}
	got.Size, got.Free, got.BootFree = 0, 0, 0
	want := Storage{Layers: map[string]bool{first: true}, LargestKernel: 800, OtherKernels: 550}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("storage (-want +got):\n%s", diff)
	}
}

func TestBootedKernel(t *testing.T) {
	for cmdline, want := range map[string]string{
		"root=UUID=12 ostree=/ostree/boot.1/rhcos/aaaa/0 rw": "rhcos-aaaa",
		"ostree=/ostree/boot.0/default/bbbb/1":               "default-bbbb",
		"root=UUID=12 rw":                                    "",
		"ostree=/ostree/boot.0":                              "",
	} {
		if got := bootedKernel(cmdline); got != want {
			t.Errorf("%s: %q, want %q", cmdline, got, want)
		}
	}
}

func TestUsable(t *testing.T) {
	for _, test := range []struct{ size, free, want uint64 }{
		{1000, 500, 470}, {1000, 30, 0}, {1000, 10, 0},
	} {
		if got := (Storage{Size: test.size, Free: test.free}).Usable(); got != test.want {
			t.Errorf("%d of %d bytes free: %d, want %d", test.free, test.size, got, test.want)
		}
	}
}
