// SPDX-License-Identifier: Apache-2.0

package ignitionserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/coreos/ignition/v2/config/v3_2/types"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

// ignitionPath is the pattern of the upstream server: /ignition and /ignitionfoo match,
// /ignition/ does not.
var ignitionPath = regexp.MustCompile("^/ignition[^/ ]*$")

// haproxyUnavailable is HAProxy's built-in page for a backend without servers.
const haproxyUnavailable = "<html><body><h1>503 Service Unavailable</h1>\n" +
	"No server is available to handle this request.\n</body></html>\n"

// ServeHTTP responds to one request and records it. The method is ignored, as upstream.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		cut := recover() // http.ErrAbortHandler: a truncated response
		s.record(api.Request{
			Time: time.Now(), Method: r.Method, Path: r.URL.Path, UserAgent: r.UserAgent(),
			Status: counted.status, Bytes: counted.bytes, Truncated: cut != nil,
		})
		if cut != nil {
			panic(cut)
		}
	}()
	s.respond(counted, r)
}

func (s *Server) respond(w *countingWriter, r *http.Request) {
	faults := s.faultsNow()
	if faults.DownSeconds > 0 {
		w.Header()["Date"] = nil // HAProxy sends none
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(haproxyUnavailable))
		return
	}
	if faults.DateSkewSeconds != 0 {
		now := time.Now().Add(time.Duration(faults.DateSkewSeconds) * time.Second)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	}
	if r.URL.Path == "/healthz" {
		return
	}
	if !ignitionPath.MatchString(r.URL.Path) {
		http.NotFound(w, r)
		return
	}
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	payload, unchecked, ok := s.lookup(token)
	if !ok || faults.NotReadySeconds > 0 {
		http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
		return
	}
	if !unchecked && !isIgnition(payload) {
		http.Error(w, "Invalid ignition payload", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	send(w, payload, faults)
	s.recordReached(r.Header.Get("NodePool"), r.Header.Get("TargetConfigVersionHash"))
}

// bearer decodes the single base64 layer. The prefix is case-sensitive.
func bearer(authorization string) (token string, ok bool) {
	encoded, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}

func (s *Server) lookup(token string) (payload []byte, unchecked, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.payload, s.unchecked, s.tokens.isValid(token)
}

// recordReached records a fetch whose two optional headers are correct. Wrong headers are ignored
// without an error, as upstream.
func (s *Server) recordReached(nodePool, hash string) {
	if nodePool != s.config.NodePool || hash != s.config.Hash {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, api.Reached{Time: time.Now(), NodePool: nodePool, TargetConfigVersionHash: hash})
}

// isIgnition reports whether the upstream server serves a payload: any that can be decoded into the types of spec 3.2,
// such as {} (SanitizeIgnitionPayload in support/util/util.go).
func isIgnition(payload []byte) bool {
	return json.Unmarshal(payload, &types.Config{}) == nil
}
