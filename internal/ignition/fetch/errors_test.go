// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestCheckCA(t *testing.T) {
	good := string(certtest.NewCA(t, "a CA").PEM)
	bad := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	key := "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	for text, want := range map[string]string{
		good:                                     "",
		"a bundle\n" + key + good + "\n\n" + bad: "",
		bad + good:                               "parsing the certificate",
		key:                                      "no PEM certificate",
		"":                                       "no PEM certificate",
	} {
		if err := CheckCA([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckCA(%q) = %v, want %q", text, err, want)
		}
	}
}
