// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
	"testing"
)

const canary = "Canary7" // occurs in every secret of the table; real secrets differ

// A secret is masked, and the rest of its line remains.
func TestTextMasksSecrets(t *testing.T) {
	long := "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w" + canary
	for name, test := range map[string]struct{ text, want string }{
		"proxy": {
			"HTTP_PROXY=http://me:" + canary + "@proxy.example.com:3128",
			"HTTP_PROXY=http://***@proxy.example.com:3128",
		},
		"proxy, odd password":  {"http://me:a/b@" + canary + "@proxy:3128/x", "http://***@proxy:3128/x"},
		"proxy without scheme": {"HTTPS_PROXY=me:" + canary + "@proxy:3128", "HTTPS_PROXY=***@proxy:3128"},
		"perhaps a password":   {"https://me:1/" + canary + "@b", "https://***@b"},
		"URL with a token alone": {
			"url = https://" + canary + "@git.example.com/a",
			"url = https://***@git.example.com/a",
		},
		"URL's query":    {"GET /a?token=" + canary + " HTTP/1.1", "GET /a?token=*** HTTP/1.1"},
		"header":         {"Authorization: Bearer " + canary + ".x_y-z~/+=", "Authorization: ***"},
		"header in JSON": {`{"Authorization":"Bearer ` + canary + `"}`, `{"Authorization":"***"}`},
		"header of user data": {
			`{"name":"Authorization","value":"Bearer ` + canary + `"},{"name":"NodePool","value":"a/b"}`,
			`{"name":"Authorization","value":"***"},{"name":"NodePool","value":"a/b"}`,
		},
		"header in a command": {
			`curl -H "Authorization: Basic ` + canary + `=" https://a`,
			`curl -H "Authorization: ***" https://a`,
		},
		"bearer alone":   {"with bearer " + canary + "AAAA", "with bearer ***"},
		"basic alone":    {"Basic " + canary + "AAAA=", "Basic ***"},
		"YAML":           {"  password: " + canary + " and more\n  user: me", "  password: ***\n  user: me"},
		"YAML in a list": {"- token: " + canary, "- token: ***"},
		"YAML, quoted":   {`clientSecret: "` + canary + ` \" x" # why`, `clientSecret: "***" # why`},
		"YAML block": {
			"secretValue: |\n  " + canary + "\n\n  " + canary + "\nnext: 1",
			"secretValue: |\n  ***\n\n  ***\nnext: 1",
		},
		"YAML block in a list": {"a:\n- token: >-\n    " + canary + "\n  b: 1", "a:\n- token: >-\n    ***\n  b: 1"},
		"YAML list": {
			"tokens:\n- " + canary + "\n- \"" + canary + "\"\nnext: 1",
			"tokens:\n- ***\n- ***\nnext: 1",
		},
		"YAML, empty": {"secret:\n  secretName: mine\n", "secret:\n  secretName: mine\n"},
		"JSON": {
			`{"auths":{"quay.io":{"auth":"` + canary + `","email":"me@x"}}}`,
			`{"auths":{"quay.io":{"auth":"***","email":"me@x"}}}`,
		},
		"JSON in JSON": {`"a":"{\"auth\":\"` + canary + `\",\"b\":1}"`, `"a":"{\"auth\":\"***\",\"b\":1}"`},
		"JSON list":    {`{"tokens": ["` + canary + `", "b"], "c": 1}`, `{"tokens": [***], "c": 1}`},
		"INI": {
			"[wifi-security]\npsk=" + canary + " with spaces\n[ipv4]",
			"[wifi-security]\npsk=***\n[ipv4]",
		},
		"shell":           {"export API_KEY='" + canary + "'", "export API_KEY='***'"},
		"shell, unquoted": {"export ADMIN_PASSWORD=" + canary + " b", "export ADMIN_PASSWORD=***"},
		"systemd":         {"Environment=A=1 TOKEN=" + canary + " B=2", "Environment=A=1 TOKEN=*** B=2"},
		"systemd, quoted": {`Environment="TOKEN=` + canary + ` x" B=2`, `Environment="TOKEN=***" B=2`},
		"flag":            {"ExecStart=/bin/a --token=" + canary + " --x", "ExecStart=/bin/a --token=*** --x"},
		"flag, apart": {
			"ExecStart=/bin/a --admin-password " + canary + " --x y",
			"ExecStart=/bin/a --admin-password *** --x y",
		},
		"flag, quoted": {`a --password "` + canary + ` b" --x`, `a --password "***" --x`},
		"curl":         {"curl -u me:" + canary + " https://a", "curl -u *** https://a"},
		"variable of a container": {
			"env:\n- name: DB_PASSWORD\n  value: " + canary + "\n- name: PORT\n  value: \"80\"",
			"env:\n- name: DB_PASSWORD\n  value: ***\n- name: PORT\n  value: \"80\"",
		},
		"second variable of a line": {
			`[{"name":"A","value":"x"},{"name":"DB_PASSWORD","value":"` + canary + `"}]`,
			`[{"name":"A","value":"x"},{"name":"DB_PASSWORD","value":"***"}]`,
		},
		"numbers": {"pin: 123456\npassword: 4711", "pin: ***\npassword: ***"},
		"private key": {
			"a\n-----BEGIN RSA PRIVATE KEY-----\n" + canary + "\n-----END RSA PRIVATE KEY-----\nb",
			"a\n(*** RSA PRIVATE KEY)\nb",
		},
		"private key, one line": {
			`"k": "-----BEGIN PRIVATE KEY-----\n` + canary + `\n-----END PRIVATE KEY-----\n"`,
			`"k": "(*** PRIVATE KEY)\n"`,
		},
		"private key, cut": {"-----BEGIN OPENSSH PRIVATE KEY-----\n" + canary, "(*** OPENSSH PRIVATE KEY)"},
		"PGP": {
			"-----BEGIN PGP PRIVATE KEY BLOCK-----\n" + canary + "\n-----END PGP PRIVATE KEY BLOCK-----",
			"(*** PGP PRIVATE KEY BLOCK)",
		},
		"kubeconfig":    {"    client-key-data: " + long + "\n", "    client-key-data: ***\n"},
		"JWT":           {"x eyJhbGciOi." + canary + ".abc y", "x *** y"},
		"password hash": {"root:$6$salt$" + canary + "/x:1", "root:***:1"},
		"htpasswd":      {"me:$apr1$salt$" + canary + "/x\nyou:{SHA}" + canary + "=", "me:***\nyou:***"},
		"WireGuard": {
			"[wireguard-peer.x]\npreshared-key=" + canary + "\n[macsec]\nmka-cak=" + canary,
			"[wireguard-peer.x]\npreshared-key=***\n[macsec]\nmka-cak=***",
		},
		"join token": {
			"kind: JoinToken\nprivateKey: " + canary + "=\nnode: worker-7",
			"kind: JoinToken\nprivateKey: ***\nnode: worker-7",
		},
		"variable _PW":    {"BIND_DN_PW=" + canary, "BIND_DN_PW=***"},
		"variable _CREDS": {"DB_CREDS=" + canary, "DB_CREDS=***"},
		"variable _KEY":   {"ENCRYPTION_KEY=" + canary, "ENCRYPTION_KEY=***"},
		"passcode":        {"passcode: " + canary, "passcode: ***"},
		"LDAP's token":    {"ldap_default_authtok = " + canary, "ldap_default_authtok = ***"},
		"activation key": {
			"register --activationkey=" + canary + " --activationkey " + canary,
			"register --activationkey=*** --activationkey ***",
		},
		"bootstrap token":    {"token abcdef.0123456789abcdef of kubeadm", "token abcdef.*** of kubeadm"},
		"token of user data": {"token b9f0c1de-4c7a-4d1a-9a44-0c5de1f2ca7a was refused", "token *** was refused"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Text(test.text)
			if got != test.want || strings.Contains(got, canary) {
				t.Errorf("%q\nis %q\nwant %q", test.text, got, test.want)
			}
			if again := Text(got); again != got {
				t.Errorf("masked again it is %q", again)
			}
		})
	}
}

// Text without secrets remains unchanged.
func TestTextKeepsPublicData(t *testing.T) {
	const certificate = "-----BEGIN CERTIFICATE-----\n" +
		"MIIBszCCAVmgAwIBAgIUQ2VydGlmaWNhdGVzQXJlUHVibGljMDEyMzQ1Njc4OTA=\n-----END CERTIFICATE-----\n"
	const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, text := range map[string]string{
		"empty":             "",
		"certificate":       "a\n" + certificate + certificate,
		"certificate, JSON": `{"ca":"` + strings.ReplaceAll(certificate, "\n", `\n`) + `"}`,
		"ssh public key":    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB me@host",
		"image":             "pause_image = \"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + hash + "\"",
		"image with a tag":  "docker://quay.io/a/b:v1@sha256:" + hash,
		"files of secrets": "global_auth_file = \"/var/lib/kubelet/config.json\"\ntokenFile: /etc/a\n--token-file " +
			"/etc/b --password-file=/etc/c",
		"switches": "PasswordAuthentication yes\nautomountServiceAccountToken: " +
			"false\nenableTokenAuth=true\npassword:\n",
		"variables": "PASSWORD=$PASSWORD\nTOKEN=\"${TOKEN}\"",
		"certificate, data": "certificate-authority-data: " +
			base64.StdEncoding.EncodeToString([]byte(certificate+certificate)),
		"client CSR": "oc adm certificate approve node-csr-HRsxdx9sKb1u8wl29l7qtAtT3LoenduyQtt1axnSBpY",
		"units": "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf " +
			"--node-ip=${KUBELET_NODE_IP} \\\n  --v=2\nEnvironment=\"KUBELET_LOG_LEVEL=2\"\n",
		"URLs":  "https://api.example.com/a@b http://proxy:3128 https://mirror/x?arch=x86_64",
		"words": "the password is asked for, a token is basic to it, bearer of news",
		"words with signs": "The password is user-supplied. The password is required, the passphrase is $VALUE, the " +
			"private-key file private-key /etc/a",
		"UUIDs": "pod b9f0c1de-4c7a-4d1a-9a44-0c5de1f2ca7a token volume " +
			"UUID=b9f0c1de-4c7a-4d1a-9a44-0c5de1f2ca7a",
		"a path":            "/usr/share/containers/oci/hooks/d/prestart/OpenShift4/network/bridge/setup2",
		"addresses":         "fd00::1 192.0.2.1:10250 02:00:00:00:00:01 me@example.com git@github.com:a/b.git",
		"tolerations":       "tolerations:\n- key: node-role.kubernetes.io/master\n  operator: Exists\n",
		"public keys":       "PUBLIC_KEY=abc\nkey = value\nHostKey /etc/ssh/key\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY",
		"script in a URL":   "data:,%23%20https%3A%2F%2Fexample.com%2Fa%0Astart%20a%40b.service%3A%2F%2F%20%40",
		"ports":             "podman run -p 8080:80 -p=127.0.0.1:80:80/tcp -p=/dir mkdir -p /etc/a ssh -p 22 host",
		"PAM":               "password    sufficient    pam_unix.so\npassword    include    system-auth\n",
		"names with a dot":  "worker.0123456789abcdef.example.com images.registryoperators /a/abcdef.0123456789abcdef",
		"short hexadecimal": "machine 0123456789abcdef0123456789abcdef e3b0c44298fc1c149afbf4c8996fb924",
		"words of base64":   "kubernetes openshift-machine-config-operator authentication",
		"sysctl":            "net.ipv4.neigh.default.gc_thresh1=8192\nvm.max_map_count = 262144\n",
		"digest":            "sha512-" + hash + hash,
	} {
		if got := Text(text); got != text {
			t.Errorf("%s: %q\nis %q", name, text, got)
		}
	}
}

func TestIsSecretFile(t *testing.T) {
	for name, test := range map[string]struct {
		path, content string
		modes         []uint32
		want          bool
	}{
		"plain":               {"/etc/a.conf", "a", []uint32{0o644, 0o755}, false},
		"owner only":          {"/etc/a.conf", "a", []uint32{0o600}, true},
		"group only":          {"/etc/a.conf", "a", []uint32{0o640}, true},
		"was owner only":      {"/etc/a.conf", "a", []uint32{0o644, 0o600}, true},
		"no mode known":       {"/etc/a.conf", "a", nil, false},
		"pull secret":         {"/var/lib/kubelet/config.json", "{}", []uint32{0o644}, true},
		"mcs content":         {"/etc/mcs-machine-config-content.json", "{}", []uint32{0o644}, true},
		"bootstrap":           {"/etc/kubernetes/kubeconfig", "", []uint32{0o644}, true},
		"another kubeconfig":  {"/root/Admin.kubeconfig", "", []uint32{0o644}, true},
		"a way round":         {"/etc/../var/lib/kubelet/config.json", "{}", []uint32{0o644}, true},
		"profile":             {"/etc/NetworkManager/system-connections/wlan.nmconnection", "", []uint32{0o644}, true},
		"host key":            {"/etc/ssh/ssh_host_rsa_key", "", []uint32{0o644}, true},
		"host's public key":   {"/etc/ssh/ssh_host_rsa_key.pub", "", []uint32{0o644}, false},
		"own records":         {"/var/lib/hcp-node-agent/payload.ign", "", nil, true},
		"a key by its name":   {"/etc/tls/server.key", "", []uint32{0o644}, true},
		"a key by its form":   {"/etc/x.pem", "-----BEGIN EC PRIVATE KEY-----", []uint32{0o644}, true},
		"a certificate":       {"/etc/x.pem", "-----BEGIN CERTIFICATE-----", []uint32{0o644}, false},
		"a pull secret":       {"/etc/x.json", `{"auths": {}}`, []uint32{0o644}, true},
		"kubeconfig's form":   {"/etc/x.yaml", "users:\n- user:\n    client-key-data: a", []uint32{0o644}, true},
		"a docker login":      {"/root/.docker/config.json", "", []uint32{0o644}, true},
		"another config.json": {"/etc/app/config.json", "", []uint32{0o644}, false},
	} {
		if got := IsSecretFile(test.path, []byte(test.content), test.modes...); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A secret is masked regardless of the text before it.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"password: |\n  a",
		`{"a":"\`,
		"http://a:b@c@d",
		"--token",
		"name: a_token\n value:",
		"=",
		"token=[",
		"-----BEGIN CERTIFICATE-----",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, canary, "")
		if masked := Text(text + "\npassword: " + canary + "\n"); strings.Contains(masked, canary) {
			t.Error(masked)
		}
	})
}
