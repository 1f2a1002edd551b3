package ignitionserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

// ignitionPath is the real server's pattern: /ignition and /ignitionfoo match,
// /ignition/ does not.
var ignitionPath = regexp.MustCompile("^/ignition[^/ ]*$")

// haproxyUnavailable is HAProxy's built-in page for a backend without servers.
const haproxyUnavailable = "<html><body><h1>503 Service Unavailable</h1>\n" +
	"No server is available to handle this request.\n</body></html>\n"

// ServeHTTP answers one request and records it. The method is never looked at.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		cut := recover() // http.ErrAbortHandler: an answer that was cut short
		s.record(api.Request{
			Time: time.Now(), Method: r.Method, Path: r.URL.Path, UserAgent: r.UserAgent(),
			Status: counted.status, Bytes: counted.bytes, Truncated: cut != nil,
		})
		if cut != nil {
			panic(cut)
		}
	}()
	s.answer(counted, r)
}

func (s *Server) answer(w *countingWriter, r *http.Request) {
	faults := s.faultsNow()
	if faults.DownSeconds > 0 {
		w.Header()["Date"] = nil // HAProxy writes none
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
	s.reach(r.Header.Get("NodePool"), r.Header.Get("TargetConfigVersionHash"))
}

// bearer decodes the one base64 layer. The prefix is case-sensitive.
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
	return s.payload, s.unchecked, s.tokens.good(token)
}

// reach records a fetch whose two optional headers are right; wrong ones are
// ignored silently, as on the real server.
func (s *Server) reach(nodePool, hash string) {
	if nodePool != s.config.NodePool || hash != s.config.Hash {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, api.Reached{Time: time.Now(), NodePool: nodePool, TargetConfigVersionHash: hash})
}

func isIgnition(payload []byte) bool {
	var config struct {
		Ignition struct{ Version string }
	}
	return json.Unmarshal(payload, &config) == nil && config.Ignition.Version != ""
}
