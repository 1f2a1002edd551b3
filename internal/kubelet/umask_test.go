// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"path"
	"strings"
	"testing"
)

func TestRenderUmaskDropIn(t *testing.T) {
	const all, restricted = "/etc/systemd/system/service.d/", "[Service]\nUMask=0077\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"no drop-in for all services": {nil, false},
		"restrictive umask":           {map[string]string{all + "a.conf": restricted}, true},
		"umask of the vendor": {
			map[string]string{"/usr/lib/systemd/system/service.d/a.conf": "[Service]\nUMask = 027\n"}, true,
		},
		"default umask":    {map[string]string{all + "a.conf": "[Service]\nUMask=0022\n"}, false},
		"comment":          {map[string]string{all + "a.conf": "[Service]\n#UMask=0077\n"}, false},
		"not a drop-in":    {map[string]string{all + "a.conf.bak": restricted}, false},
		"of kubelet alone": {map[string]string{"/etc/systemd/system/kubelet.service.d/a.conf": restricted}, false},
		"replaced by the administrator": {map[string]string{
			"/usr/lib/systemd/system/service.d/a.conf": restricted, all + "a.conf": "",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := func(name string) ([]byte, bool) {
				content, found := test.files[name]
				return []byte(content), found
			}
			list := func(dir string) (names []string) {
				for name := range test.files {
					if path.Dir(name) == dir {
						names = append(names, path.Base(name))
					}
				}
				return names
			}
			got := ReadUnitFiles(file, list).RenderUmaskDropIn()
			if strings.HasSuffix(got, "\n[Service]\nUMask=0022\n") != test.want || (got != "") != test.want {
				t.Errorf("the drop-in for %q is %q", test.files, got)
			}
		})
	}
}
