// SPDX-License-Identifier: Apache-2.0

package ignition_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

func TestSecretsAreFoundByContent(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		want    bool
	}{
		"private key":                    {"x: |\n  -----BEGIN EC PRIVATE KEY-----\n", true},
		"certificate":                    {"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", false},
		"pull secret":                    {`{"auths":{"registry.example.com":{"auth":"dXNlcjpwdw=="}}}`, true},
		"pull secret, encoded":           {`{"source":"data:,%7B%22auths%22%3A%7B%22a%22%3A1%7D%7D"}`, true},
		"client key":                     {"users:\n- user:\n    client-key-data: LS0t\n", true},
		"token of a kubeconfig":          {"users:\n- user:\n    token: abcdefghijklmnopqrst\n", true},
		"a token's file":                 {"users:\n- user:\n    tokenFile: /var/run/secrets/token\n", false},
		"service account's token":        {"X=eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln\n", true},
		"proxy without a password":       {"HTTP_PROXY=http://proxy.example.com:3128\nNO_PROXY=.svc,10.0.0.0/8\n", false},
		"proxy with a password":          {"HTTP_PROXY=http://me:s3cr3t@proxy.example.com:3128\n", true},
		"a password of variables":        {"url=http://$USER:$PASSWORD@proxy:3128\n", false},
		"default proxy":                  {ignitiontest.DefaultProxyPod("proxy.example.com:3128"), false},
		"default proxy's password":       {ignitiontest.DefaultProxyPod("me:s3cr3t@proxy.example.com:3128"), true},
		"an image with a digest":         {"image: quay.example.com/a/b:4.18@sha256:0123\n", false},
		"image in a URL":                 {"podman pull docker://registry.example.com:5000/ns/tool@sha256:0123\n", false},
		"image with a tag":               {"docker://tool:v1@sha256:0123", false},
		"other schemes":                  {"oci://registry:5000/x@sha256:01 rsync://host:873/mod/user@x https://[fd00::1]:8443/x@y", false},
		"at sign in a path":              {"baseurl=https://mirror.example.com:8443/pulp/content/@site/\n", false},
		"path of a token":                {"token: /var/run/secrets/kubernetes.io/serviceaccount/token\n", false},
		"encoded slash":                  {"url=https://me:a%2Fb@host/\n", true},
		"credentials for cifs":           {"username=me\npassword=s3cr3t\n", true},
		"credentials for iSCSI":          {"node.session.auth.password = s3cr3t\n", true},
		"password of a variable":         {"password=$1\nPASSWORD=\"$x\"\npassword=$(cat f)\n", false},
		"password in quotes":             {"[Global]\npassword = \"s3cr3t word\"\n", true},
		"path of a password":             {"password=/run/secrets/pw\npassword = \"/run/secrets/pw\"\n", false},
		"password of a variable's value": {"[Service]\nEnvironment=\"DB_PASSWORD=s3cr3t\"\n", true},
		"exported password":              {"export DB_PASSWORD=s3cr3t\n", true},
		"password in a file of Windows":  {"password=s3cr3t\r\nuser=me\r\n", true},
		"password in YAML":               {"db:\n  password: s3cr3t\n", true},
		"password in JSON":               {`{"username":"me","password":"s3cr3t"}`, true},
		"secret of a client":             {"  \"aadClientSecret\": \"abcdefghijkl\",\n", true},
		"token of npm":                   {"//registry.npmjs.org/:_authToken=abcdef0123456789\n", true},
		"tokens by their form":           {"GH=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n", true},
		"token of OpenShift":             {"oc login --token=sha256~abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG\n", true},
		"private key in base64":          {"data:\n  tls.key: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF\n", true},
		"EAP":                            {"carol : EAP \"s3cr3t\"\n", true},
		"netrc with an account":          {"machine h login me account a password s3cr3t\n", true},
		"wireless network":               {"network={\n  psk=\"s3cr3tword\"\n}\n", true},
		"arguments of curl":              {"curl -fsSL --user 'me:s3cr3t' https://host/x\n", true},
		"a dollar in a password":         {"HTTPS_PROXY=http://me:pa$$word@proxy:3128\n", true},
		"an encoded password":            {"HTTPS_PROXY=http://me:%40word@proxy:3128\n", true},
		"variables of curl":              {"curl -u \"$USER:$PASS\" -u ${USER}:${PASS} --user-agent a:b https://host\n", false},
		"user of podman":                 {"podman run --user 1000:1000 -u 0:0 image\n", false},
		"password of a program":          {"password = getpass.getpass()\npassword = args.password\n", false},
		"type of a password":             {"    password:\n      type: string\n    password: string\n", false},
		"no password":                    {"password=None\npassword: \"\"\npassword: {{ .Password }}\n", false},
		"file of a password":             {"DB_PASSWORD_FILE=/run/pw\nPASSWORD_MAX_AGE=90\n", false},
		"masked password":                {"HTTP_PROXY=http://me:***@proxy:3128\n", false},
		"a port in a list":               {"servers=http://a.example.com:80,admin@example.com\n", false},
		"a regular expression":           {"sed -E 's|https://[^:]*:[^@]*@|https://|'\n", false},
		"address of a phone":             {"contact=sip:me@example.com:5060\n", false},
		"at signs":                       {"npm i @scope/a@1.2; systemctl start foo@bar.service; scp a@b:22 c\n", false},
		"netrc":                          {"machine git.example.com\n  login me\n  password s3cr3t\n", true},
		"WireGuard":                      {"[Interface]\nPrivateKey = oK56DE9Ue9zK76rAc8pBl6opph+1v36lm7cXXsQKrQM=\n", true},
		"WireGuard's public key":         {"[Peer]\nPublicKey = oK56DE9Ue9zK76rAc8pBl6opph+1v36lm7cXXsQKrQM=\n", false},
		"IPsec":                          {"%any %any : PSK \"s3cr3t\"\n", true},
		"keys of AWS":                    {"[default]\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG\n", true},
		"password of LDAP":               {"[domain/x]\nldap_default_authtok = s3cr3t\n", true},
		"HTTP header":                    {"curl -H 'Authorization: Bearer abcdef0123456789'\n", true},
		"HTTP header of a file":          {"curl -H \"Authorization: Bearer $(cat /run/token)\"\n", false},
		"Git over SSH":                   {"git+ssh://git@github.com:22/org/repo.git git@github.com:org/repo.git\n", false},
		"credential of systemd":          {"LoadCredential=token:/etc/token\n", false},
		"client key in a file":           {"users:\n- user:\n    client-key: /var/lib/kubelet/pki/client.pem\n", false},
		"PAM":                            {"password requisite pam_pwquality.so retry=3\n", false},
		"plain setting":                  {"net.ipv4.ip_forward = 1\n", false},
	} {
		if got := ignition.ContainsSecret(test.content); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// Only these files of a payload contain a secret. The mode of the others must not change,
// because containers read some of them.
func TestSecretsOfRealPayloads(t *testing.T) {
	for _, name := range ignitiontest.RealPayloads(t, "worker-*.ign") {
		p := ignitiontest.LoadRealPayload(t, name)
		var found []string
		for _, file := range p.Config.Storage.Files {
			if content, _, _ := p.File(file.Path); ignition.ContainsSecret(string(content)) {
				found = append(found, file.Path)
			}
		}
		want := "/var/lib/kubelet/config.json /etc/kubernetes/kubeconfig /etc/mcs-machine-config-content.json"
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: %s, want %s", filepath.Base(name), got, want)
		}
	}
}
