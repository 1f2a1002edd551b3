// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"encoding/base64"
	"encoding/binary"
	"math/big"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// access describes how a user can log in with SSH.
type access struct {
	password bool     // or Kerberos
	keys     []string // authorized keys, and the settings of other sources of keys
}

// isPossible reports whether the user can log in.
func (a access) isPossible() bool { return a.password || len(a.keys) > 0 }

// remaining returns what remains of an access afterwards. Keys that did not exist before belong to others.
func (a access) remaining(after access) access {
	after.password = after.password && a.password
	isNew := func(key string) bool { return !slices.Contains(a.keys, key) }
	after.keys = slices.DeleteFunc(slices.Clone(after.keys), isNew)
	return after
}

// accessOf returns how a user can log in from an address, with the settings that sshd has for this user.
func accessOf(tree Tree, user User, s settings, from string) access {
	_, isClosed := tree.ReadFile("/etc/nologin")
	isDenied := (isClosed && user.Name != "root") || (s.isSet("usepam") && isDeniedByPAM(tree, user, from))
	if isDenied || !isAdmitted(user, s, from) || !givesShell(s) {
		return access{}
	}
	root := "yes"
	if user.Name == "root" {
		root = s.first("permitrootlogin")
	}
	var a access
	if root != "yes" && root != "without-password" && root != "prohibit-password" {
		return a // no, or only with the command of a key
	}
	if s.isSet("pubkeyauthentication") {
		a.keys = authorizedKeys(tree, user, s)
	}
	dialogue := s.isSet("kbdinteractiveauthentication") || s.isSet("challengeresponseauthentication")
	byPassword := user.HasPassword && root == "yes"
	offered := map[string]bool{
		"publickey":            len(a.keys) > 0,
		"password":             byPassword && s.isSet("passwordauthentication"),
		"keyboard-interactive": byPassword && dialogue && s.isSet("usepam"),
		"gssapi-with-mic":      user.IsRemote && s.isSet("gssapiauthentication"),
	}
	a.password = offered["password"] || offered["keyboard-interactive"] || offered["gssapi-with-mic"]
	if required := s["authenticationmethods"]; len(required) > 0 && required[0] != "any" {
		isMet := func(list string) bool {
			return !slices.ContainsFunc(strings.Split(list, ","), func(method string) bool {
				name, _, _ := strings.Cut(method, ":")
				return !offered[name]
			})
		}
		if !slices.ContainsFunc(required, isMet) {
			return access{}
		}
	}
	return a
}

// givesShell reports whether sshd starts a session with a shell, or with a command in its place that may start one.
func givesShell(s settings) bool {
	forced := []string{"nologin", "false", "internal-sftp", "sftp-server"}
	return s.first("maxsessions") != "0" && !slices.Contains(forced, path.Base(s.first("forcecommand")))
}

// isAdmitted reports whether the lists of users and groups admit a user, in sshd's order.
func isAdmitted(user User, s settings, from string) bool {
	matches := func(pattern string) bool { return matchesUser(pattern, user.Name, from) }
	inGroup := func(pattern string) bool {
		return slices.ContainsFunc(user.Groups, func(group string) bool { return matchesName(pattern, group) })
	}
	switch {
	case slices.ContainsFunc(s["denyusers"], matches):
		return false
	case len(s["allowusers"]) > 0 && !slices.ContainsFunc(s["allowusers"], matches):
		return false
	case slices.ContainsFunc(s["denygroups"], inGroup):
		return false
	}
	return len(s["allowgroups"]) == 0 || slices.ContainsFunc(s["allowgroups"], inGroup)
}

// matchesUser reports whether USER or USER@HOST of sshd_config(5) matches a user who comes from an address.
func matchesUser(pattern, user, from string) bool {
	name, host, hasHost := strings.Cut(pattern, "@")
	if !matchesName(name, user) {
		return false
	}
	if !hasHost || matchesName(host, from) {
		return true
	}
	network, err := netip.ParsePrefix(host)
	address, addressErr := netip.ParseAddr(from)
	return err == nil && addressErr == nil && network.Contains(address)
}

func matchesName(pattern, name string) bool {
	matches, err := path.Match(pattern, name)
	return err == nil && matches
}

// authorizedKeys returns the keys with which a user can log in.
func authorizedKeys(tree Tree, user User, s settings) []string {
	var keys []string
	expand := strings.NewReplacer("%%", "%", "%h", user.Home, "%u", user.Name)
	for _, name := range s["authorizedkeysfile"] {
		if name = expand.Replace(name); !path.IsAbs(name) {
			name = path.Join(user.Home, name)
		}
		content, _ := tree.ReadFile(name)
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && acceptsKey(s, line) {
				keys = append(keys, line)
			}
		}
	}
	for _, other := range []string{"authorizedkeyscommand", "trustedusercakeys"} {
		if value := strings.Join(s[other], " "); value != "" && value != "none" {
			keys = append(keys, other+" "+value)
		}
	}
	return keys
}

// acceptsKey reports whether a key gives a shell, and sshd accepts its type, which crypto-policies(7) restrict. The
// signatures of an RSA key have three types. cloud-init adds keys of root whose command prints another user.
func acceptsKey(s settings, line string) bool {
	accepted := slices.Concat(s["pubkeyacceptedalgorithms"], s["pubkeyacceptedkeytypes"]) // of OpenSSH 8.5, and older ones
	words := strings.Fields(line)
	at := slices.IndexFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "ssh-") || strings.HasPrefix(word, "ecdsa-sha2-") || strings.HasPrefix(word, "sk-")
	})
	if at >= 0 && strings.Contains(strings.Join(words[:at], " "), "command=") {
		return false
	}
	if at >= 0 && words[at] == "ssh-rsa" && isShort(s, words[at:]) {
		return false
	}
	if len(accepted) == 0 || at < 0 {
		return true
	}
	types := []string{words[at]}
	if words[at] == "ssh-rsa" {
		types = []string{"ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"}
	}
	isType := func(name string) bool { return slices.Contains(types, name) }
	return slices.ContainsFunc(strings.Split(accepted[0], ","), isType)
}

// isShort reports whether an RSA key has fewer bits than sshd requires, as with the crypto policy FUTURE.
func isShort(s settings, words []string) bool {
	required, err := strconv.Atoi(s.first("requiredrsasize"))
	if err != nil || len(words) < 2 {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(words[1])
	var modulus []byte // the last of the parts, each after its length (RFC 4253, 6.6)
	for err == nil && len(blob) >= 4 {
		size := uint64(binary.BigEndian.Uint32(blob))
		if blob = blob[4:]; size > uint64(len(blob)) {
			return false
		}
		modulus, blob = blob[:size], blob[size:]
	}
	return len(modulus) > 0 && new(big.Int).SetBytes(modulus).BitLen() < required
}
