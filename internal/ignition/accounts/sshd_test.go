package accounts

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

func TestWhereKeysGo(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  string // path, or the error
	}{
		"no sshd_config":          {nil, "/home/core/.ssh/authorized_keys"},
		"default":                 {map[string]string{"sshd_config": "Port 22\n"}, "/home/core/.ssh/authorized_keys"},
		"as RHEL has it":          {map[string]string{"sshd_config": "Include /etc/ssh/sshd_config.d/*.conf\nAuthorizedKeysFile\t.ssh/authorized_keys\n"}, "/home/core/.ssh/authorized_keys"},
		"of the home":             {map[string]string{"sshd_config": "AuthorizedKeysFile %h/.ssh/authorized_keys"}, "/home/core/.ssh/authorized_keys"},
		"fragment":                {map[string]string{"sshd_config": "authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys.d/ignition"}, "/home/core/.ssh/authorized_keys.d/ignition"},
		"reader of the fragments": {map[string]string{"sshd_config": "Include sshd_config.d/*.conf", "sshd_config.d/40-ssh-key-dir.conf": "AuthorizedKeysCommand /usr/libexec/ssh-key-dir %u\nAuthorizedKeysCommandUser root\n"}, "/home/core/.ssh/authorized_keys.d/ignition"},
		"central":                 {map[string]string{"sshd_config": "AuthorizedKeysFile /etc/ssh/keys/%u"}, "/etc/ssh/keys/core"},
		"central by number":       {map[string]string{"sshd_config": `AuthorizedKeysFile="/etc/ssh/keys/%U %%"`}, "/etc/ssh/keys/1003 %"},
		"central and home":        {map[string]string{"sshd_config": "AuthorizedKeysFile /etc/ssh/keys/%u .ssh/authorized_keys"}, "/home/core/.ssh/authorized_keys"},
		"second file":             {map[string]string{"sshd_config": "AuthorizedKeysFile .ssh/authorized_keys2"}, "/home/core/.ssh/authorized_keys2"},
		"first one counts":        {map[string]string{"sshd_config": "AuthorizedKeysFile /a/%u\nAuthorizedKeysFile /b/%u"}, "/a/core"},
		"drop-in comes first":     {map[string]string{"sshd_config": "Include sshd_config.d/*.conf\nAuthorizedKeysFile /b/%u", "sshd_config.d/1.conf": "AuthorizedKeysFile /a/%u", "sshd_config.d/0.txt": "AuthorizedKeysFile /c/%u"}, "/a/core"},
		"drop-ins in order":       {map[string]string{"sshd_config": "Include sshd_config.d/*.conf", "sshd_config.d/2.conf": "AuthorizedKeysFile /b/%u", "sshd_config.d/1.conf": "AuthorizedKeysFile /a/%u"}, "/a/core"},
		"match of the user":       {map[string]string{"sshd_config": "AuthorizedKeysFile /a/%u\nMatch User git,core\nAuthorizedKeysFile /b/%u"}, "/b/core"},
		"match of another":        {map[string]string{"sshd_config": "AuthorizedKeysFile /a/%u\nMatch User git\nAuthorizedKeysFile /b/%u"}, "/a/core"},
		"match of an address":     {map[string]string{"sshd_config": "Match Address 192.0.2.0/24\nAuthorizedKeysFile /b/%u\nMatch all\nAuthorizedKeysFile /a/%u"}, "/a/core"},
		"drop-in inside a match":  {map[string]string{"sshd_config": "Match User git\nInclude sshd_config.d/*.conf", "sshd_config.d/1.conf": "AuthorizedKeysFile /a/%u"}, "/home/core/.ssh/authorized_keys"},
		"comment":                 {map[string]string{"sshd_config": "#AuthorizedKeysFile /a\n  AuthorizedKeysFile /b/%u # mine"}, "/b/core"},
		"none":                    {map[string]string{"sshd_config": "AuthorizedKeysFile none"}, "sshd reads keys from no file (AuthorizedKeysFile none)"},
		"unknown token":           {map[string]string{"sshd_config": "AuthorizedKeysFile /a/%i"}, "AuthorizedKeysFile /a/%i has the token %i, which sshd does not know there"},
		"loop":                    {map[string]string{"sshd_config": "Include sshd_config"}, "reading /etc/ssh/sshd_config: files of sshd include each other too deep"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, content := range test.files {
				put(t, root, "etc/ssh/"+file, content)
			}
			tree, err := host.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			got := ""
			sshd, err := readSSHD(tree)
			if err == nil {
				got, err = keysPattern(sshd, "core")
			}
			if err == nil {
				got, err = expandKeys(got, "core", "/home/core", 1003)
			}
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
