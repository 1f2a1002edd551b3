package hostfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSubConfinesPaths(t *testing.T) {
	tree, root := openTest(t)
	put(t, root, "etc/secret", "s")
	put(t, root, "home/a/file", "f")
	symlink(t, "/etc", root, "home/a/absolute")
	symlink(t, "../../etc", root, "home/a/relative")
	sub, info, err := tree.Sub("/home/a")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if info.Type != Directory || info.UID != os.Geteuid() || sub.Name() != filepath.Join(root, "home/a") {
		t.Errorf("%+v, %s", info, sub.Name())
	}
	if content, _, err := sub.ReadFile("/file"); err != nil || string(content) != "f" {
		t.Errorf("%q, %v", content, err)
	}
	for _, p := range []string{"/absolute/secret", "/relative/secret", "/../../etc/secret"} {
		if there, err := sub.Exists(p); err != nil || there {
			t.Errorf("%s led out: %t, %v", p, there, err)
		}
	}
	var seen []string
	err = sub.Walk("/", func(p string, _ Info) error { seen = append(seen, p); return nil })
	if want := []string{"/absolute", "/file", "/relative"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%v, want %v, %v", seen, want, err)
	}
	for _, p := range []string{"/home/a/file", "/home/none"} {
		if sub, _, err := tree.Sub(p); err == nil {
			sub.Close()
			t.Errorf("%s was opened as a tree", p)
		}
	}
}
