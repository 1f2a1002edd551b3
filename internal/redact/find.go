// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Find returns the secrets in a text with recognizable keys: user data, a pull secret, a
// kubeconfig, a key, a NetworkManager profile, a unit's environment. It also returns the
// parts of secrets: the password in a pull secret's auth, the lines of a key. Values can
// then mask them in other texts.
func Find(text string) []string {
	f := finder{seen: map[string]bool{}}
	f.addText(text)
	return f.found
}

type finder struct {
	found []string
	seen  map[string]bool
}

func (f *finder) addText(text string) {
	for _, block := range privateKey.FindAllString(text, -1) {
		f.addKeyLines(block)
	}
	add := func(value string) string {
		f.addValue(value)
		return value
	}
	replaceKeyValues(text, add)
	replaceNamedPairs(text, add)
	replaceSections(text, add)
	for _, part := range scheme.FindAllString(text, -1) {
		f.addValue(part)
	}
	for _, part := range link.FindAllStringSubmatch(text, -1) {
		f.addUserinfo(part[2])
	}
	for _, part := range userinfo.FindAllString(text, -1) {
		f.addUserinfo(part)
	}
	for _, shape := range []*regexp.Regexp{jwt, crypt} {
		for _, part := range shape.FindAllString(text, -1) {
			f.add(part)
		}
	}
}

// addUserinfo adds the user information before the host of a URL; rest is the URL without its
// scheme.
func (f *finder) addUserinfo(rest string) {
	end := strings.LastIndexByte(rest, '@')
	if end < 0 || digest.MatchString(rest[end+1:]) {
		return
	}
	_, password, found := strings.Cut(rest[:end], ":")
	if !found {
		return // a user without a password, or an @ in the path
	}
	f.add(password)
	if plain, err := url.PathUnescape(password); err == nil {
		f.add(plain)
	}
}

// addValue adds the value of a secret key, or a whole header.
func (f *finder) addValue(value string) {
	if maskValue(value) == value {
		return // a variable, a boolean, or empty
	}
	value = strings.Trim(value, `\"' []`)
	f.add(value)
	for _, kind := range []string{"bearer ", "basic "} {
		if len(value) > len(kind) && strings.EqualFold(value[:len(kind)], kind) {
			value = strings.TrimSpace(value[len(kind):])
			f.add(value)
		}
	}
	f.addDecoded(value)
}

// addDecoded adds the content of base64: the auth of a pull secret is USER:PASSWORD, the key
// of a kubeconfig is a whole PEM file.
func (f *finder) addDecoded(value string) {
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil || !isPrintable(content) {
		return
	}
	plain := string(content)
	if strings.Contains(plain, "\n") {
		f.addText(plain)
		return
	}
	f.add(plain)
	if _, password, found := strings.Cut(plain, ":"); found {
		f.add(password)
	}
}

func isPrintable(content []byte) bool {
	return utf8.Valid(content) && !slices.ContainsFunc([]rune(string(content)), func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// addKeyLines adds the lines of a key, because each line is part of the secret.
func (f *finder) addKeyLines(block string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(block, `\n`, "\n"), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") && !strings.Contains(line, ":") {
			f.add(line)
		}
	}
}

// minSecretLength is the minimum length of a secret that is searched for by its value. Shorter
// secrets are common words.
const minSecretLength = 4

func (f *finder) add(secret string) {
	var plain string
	if strings.Contains(secret, `\`) && json.Unmarshal([]byte(`"`+secret+`"`), &plain) == nil && plain != secret {
		f.add(plain) // from inside a JSON string
	}
	if len(secret) >= minSecretLength && !f.seen[secret] {
		f.seen[secret] = true
		f.found = append(f.found, secret)
	}
}
