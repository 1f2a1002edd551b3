// SPDX-License-Identifier: Apache-2.0

package ignitionserver

import (
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

// SetFaults replaces the faults. Their durations start now.
func (s *Server) SetFaults(faults api.Faults) error {
	if _, known := s.certificates[faults.Certificate]; !known {
		return fmt.Errorf("no certificate of the kind %q", faults.Certificate)
	}
	if faults.TruncateAfter < 0 || faults.BytesPerSecond < 0 || faults.NotReadySeconds < 0 || faults.DownSeconds < 0 {
		return fmt.Errorf("negative fault: %+v", faults)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.faultsAt = faults, time.Now()
	return s.endSessions()
}

// faultsNow returns the faults with the remaining seconds.
func (s *Server) faultsNow() api.Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remaining()
}

func (s *Server) remaining() api.Faults {
	faults, passed := s.faults, time.Since(s.faultsAt).Seconds()
	faults.NotReadySeconds = max(0, faults.NotReadySeconds-passed)
	faults.DownSeconds = max(0, faults.DownSeconds-passed)
	return faults
}

// State returns the received requests and the current settings.
func (s *Server) State() api.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return api.State{
		Requests:        s.requests,
		Log:             append([]api.Request{}, s.log...),
		Reached:         append([]api.Reached{}, s.reached...),
		TokenGeneration: s.tokens.generation,
		PayloadReplaced: string(s.payload) != string(s.config.Payload),
		Faults:          s.remaining(),
	}
}

func (s *Server) record(request api.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.log = append(s.log, request)
	if len(s.log) > maxRequests {
		s.log = s.log[len(s.log)-maxRequests:]
	}
}
