# hcp-node-agent. `make help` lists the targets.

VERSION ?= $(or $(shell packaging/version.sh),$(error packaging/version.sh failed))
HCP_BED_CACHE ?= $(HOME)/.cache/hcp-node-agent
EXECS ?= 1500000
# How many tests in virtual machines run at a time. Each uses a core while machines are emulated.
JOBS ?= 2
LINT = $(HCP_BED_CACHE)/tools/golangci-lint-v2.6.2
CONTROLLER_GEN = $(HCP_BED_CACHE)/tools/controller-gen-v0.20.1
GOTESTSUM = $(HCP_BED_CACHE)/tools/gotestsum-v1.13.0
# Package by package, the failures whole, no list of skipped tests: the last summary has it.
RUN_TESTS = $(GOTESTSUM) --format pkgname-and-test-fails --format-icons text --hide-summary skipped
RESULTS = $(CURDIR)/build/test
# The tests with real peers, and those with faults in system calls and requests, by the build constraints of their files.
REAL_TAGS = controlplane differential faults rpm shells
REAL_FILES = $(or $(shell git grep -lE '^//go:build ($(subst $(space),|,$(REAL_TAGS)))$$' -- '*_test.go' ':!packaging/generate'),$(error no test file has a tag of REAL_TAGS))
REAL_TESTS = $(subst $(space),|,$(filter-out TestMain,$(shell grep -hoE '^func Test[A-Z][A-Za-z0-9]*' $(REAL_FILES) | cut -c6-)))
space := $() $()
MODULE = github.com/hcp-node-agent/hcp-node-agent

export CGO_ENABLED ?= 0
# Without the checkout's path in what is compiled, a fresh clone finds it in Go's build cache.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
# lint runs vet, also for tests; go test would run it once more, for all dependencies and each set of build flags.
# Test programs need no data for debuggers.
# The timeout is for a package that hangs; package test/waittest limits each wait.
TEST_FLAGS = -vet=off -ldflags=-w -timeout 60m
export HCP_BED_CACHE

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build both binaries: bin/hcp-node-agent and bin/hcp-node-admin
	go build -trimpath -tags grpcnotrace -ldflags '-s -w -X main.version=$(VERSION)' -o bin/hcp-node-agent ./cmd/node-agent
	go build -trimpath -tags grpcnotrace -ldflags '-s -w -X main.version=$(VERSION)' -o bin/hcp-node-admin ./cmd/node-admin

.PHONY: docs
docs: ## generate docs/reference.md, docs/reference-admin.md and docs/schema from the programs
	go run ./cmd/node-agent docs markdown >docs/reference.md
	go run ./cmd/node-admin docs markdown >docs/reference-admin.md
	go run ./cmd/node-agent docs schema docs/schema
	go run ./cmd/node-admin docs schema docs/schema

.PHONY: generate
generate: $(CONTROLLER_GEN) ## generate deploy/hosted-base/crd.yaml, the methods of the API's types, the dashboards, and the CRDs of HyperShift for the tests
	$(CONTROLLER_GEN) object paths=./internal/api/...
	$(CONTROLLER_GEN) crd paths=./internal/api/... output:crd:stdout >deploy/hosted-base/crd.yaml
	cd packaging/generate && go run .
	cd test/hypershift/generate && go run .

.PHONY: formats
formats: ## write the stored documents of the next release to test/compatibility/testdata
	go test -count 1 -run '^TestFormat' ./test/compatibility ./internal/enrollment ./internal/ledger/resource \
		./internal/ovs/migrate ./internal/software/osimage -update

.PHONY: demo
demo: deps build bed ## from nothing to a Ready node with a running pod, on this machine
	go run ./test/demo

.PHONY: demo-svg
demo-svg: deps build bed ## the same, and record the join in docs/demo.svg and docs/join-trace.svg
	go run ./test/demo -record docs/demo.svg

.PHONY: watch-svg
watch-svg: deps build bed-control ## record an upgrade of simulated nodes, as an administrator watches it, in docs/nodes-watch.svg
	go run ./test/fleet -record docs/nodes-watch.svg bin/hcp-node-admin

.PHONY: test
test: deps bed-control oracle $(GOTESTSUM) ## unit, table and golden tests, the seeds of the fuzz targets, the real Ignition, a real control plane; prints what was skipped
	@rm -rf $(RESULTS) && mkdir -p $(RESULTS)
	$(MAKE) -j2 --output-sync=target test-unit test-real
	@$(GOTESTSUM) --format none --raw-command -- cat $(RESULTS)/race.json $(RESULTS)/unit.json $(RESULTS)/real.json $(RESULTS)/controlplane.json $(RESULTS)/generate.json $(RESULTS)/hypershift.json

# The race detector runs for packages that start goroutines or synchronize them. A value that is computed once
# (sync.OnceValue) is no reason.
CONCURRENT = $(or $(sort $(dir $(shell git grep -lE '^\s*go [a-z]|\.Go\b|\bsync\.[A-NP-Z]|"sync/atomic"' -- 'internal/*.go' 'cmd/*.go' \
	':!*_test.go'))),$(error no file matches the patterns of CONCURRENT))

# The tests with real peers mostly wait, so they run beside the others, which need the processor.
.PHONY: test-unit test-real
test-unit:
	CGO_ENABLED=1 $(RUN_TESTS) --jsonfile $(RESULTS)/race.json -- $(TEST_FLAGS) -race $(addprefix ./,$(CONCURRENT))
	$(RUN_TESTS) --jsonfile $(RESULTS)/unit.json -- $(TEST_FLAGS) \
		$(filter-out $(CONCURRENT:%/=$(MODULE)/%),$(shell go list ./...))
test-real:
	$(RUN_TESTS) --jsonfile $(RESULTS)/real.json -- $(TEST_FLAGS) -tags '$(REAL_TAGS)' -count=1 -p 4 -run '^($(REAL_TESTS))$$' $(addprefix ./,$(sort $(dir $(REAL_FILES))))
	cd test/controlplane && $(RUN_TESTS) --jsonfile $(RESULTS)/controlplane.json -- $(TEST_FLAGS) ./...
	cd packaging/generate && $(RUN_TESTS) --jsonfile $(RESULTS)/generate.json -- $(TEST_FLAGS) -tags controlplane ./...
	cd test/hypershift/generate && $(RUN_TESTS) --jsonfile $(RESULTS)/hypershift.json -- $(TEST_FLAGS) ./...

# The tests with the real dnf 4, with dnf5 and rpm 6 of the newest suite of Debian instead.
RPM_FILES = $(shell git grep -l '^//go:build rpm$$' -- '*_test.go')
RPM_TESTS = $(subst $(space),|,$(filter-out TestMain,$(shell grep -hoE '^func Test[A-Z][A-Za-z0-9]*' $(RPM_FILES) | cut -c6-)))
.PHONY: test-dnf5
test-dnf5: deps $(GOTESTSUM) ## the tests with the real dnf, with dnf5 and rpm 6 of the newest suite of Debian
	HCP_TEST_DNF=$$(test/rpm/dnf5.sh) $(RUN_TESTS) -- $(TEST_FLAGS) -tags rpm -count=1 -p 2 -run '^($(RPM_TESTS))$$' $(addprefix ./,$(sort $(dir $(RPM_FILES))))

# PROVE runs the tests that test/vm/tests.txt lists, and keeps their record, test/vm/proofs.tsv.
PROVE = go run ./test/vm/cmd/prove -jobs $(JOBS) $(if $(FORCE),-force) $(if $(TESTS),-tests '$(TESTS)')

.PHONY: test-vm
test-vm: deps build bed oracle ## the quick tests in virtual machines that have not passed here with the same inputs (TESTS=TestLab selects; FORCE=1 repeats; BESIDE="lint test" runs targets meanwhile)
	$(PROVE) -beside '$(BESIDE)'

.PHONY: test-all
test-all: deps build bed oracle ## everything, for hours
	$(PROVE) -kinds quick,slow -beside 'test fuzz test-rpm test-dnf5'

.PHONY: prove
prove: deps build bed oracle ## run the tests in virtual machines whose proof is oldest or missing, and record them (BUDGET=60m starts none later)
	$(PROVE) -kinds quick,slow -record $(if $(BUDGET),-budget $(BUDGET))

.PHONY: conformance
conformance: deps build bed ## Kubernetes' conformance tests of nodes and their network, on two nodes that the agent has joined (CONFORMANCE=all for all of them)
	$(PROVE) -force -tests '^TestConformance$$'; status=$$?; cat build/vm/TestConformance/conformance/conformance.md; exit $$status

.PHONY: proofs
proofs: ## print the record of the tests in virtual machines
	@go run ./test/vm/cmd/prove -list

.PHONY: check-proofs
check-proofs: ## fail unless each test in virtual machines has passed within the last 10 days with commits
	@go run ./test/vm/cmd/prove -check

# The tests of power cuts on disks that lose writes.
DISK_FILES = $(or $(shell git grep -lE 'lossydisk\.Run' -- '*_test.go'),$(error no test file uses lossydisk))

.PHONY: soak-disk
soak-disk: deps ## power cuts at random times on disks that lose and reorder writes, without a machine (RUNS, CUTS, SEED)
	RUNS=$(or $(RUNS),50) CUTS=$(or $(CUTS),100) go test $(TEST_FLAGS) -timeout 24h -tags faults -count=1 -p 1 -run 'PowerCuts$$' $(addprefix ./,$(sort $(dir $(DISK_FILES))))

.PHONY: soak-controller
soak-controller: deps ## random histories of two replicas of the controller: killed, with late watches and cut connections (RUNS, SEED)
	RUNS=$(or $(RUNS),500) go test $(TEST_FLAGS) -timeout 24h -tags faults -count=1 -v -run 'OfTwoReplicas$$' ./internal/admin/controller

.PHONY: soak
soak: deps build bed oracle ## faults at random moments and at every step, for days (TESTS=TestPowerCuts selects; RUNS, SEED, KINDS, REBOOTS, CUTS)
	$(if $(TESTS),,$(MAKE) soak-disk soak-controller)
	$(PROVE) -kinds soak -timeout 24h -jobs 1

.PHONY: fuzz
fuzz: oracle ## every fuzz target in turn, each for EXECS inputs
	EXECS=$(EXECS) test/fuzz.sh

# The parts of make bench. All but the Go benchmarks are saved for docs/benchmarks.md.
PARTS = apply join upgrade interruption fleet service go
SAVE = -save docs/benchmarks

.PHONY: bench bench-apply bench-join bench-upgrade bench-interruption bench-fleet bench-service bench-go
bench: deps build bed oracle ## measure, and write docs/benchmarks.md: apply beside the real Ignition, a join and an upgrade beside their floors, the interruption beside configure-ovs.sh, the controller with up to 1,000 nodes, the cost of the service, the Go benchmarks (PARTS="join apply" selects)
	$(MAKE) -j1 $(PARTS:%=bench-%)
	go run ./test/benchmarks/render
bench-apply: ; go run ./test/differential/bench $(SAVE) bin/hcp-node-agent
bench-join: ; go run ./test/vm/cmd/join $(SAVE)
bench-upgrade: ; go run ./test/vm/cmd/upgrade $(SAVE)
bench-interruption: ; go run ./test/vm/cmd/interruption $(SAVE)
bench-fleet: ; go run ./test/fleet $(SAVE) bin/hcp-node-admin
bench-service: ; go run ./test/vm/cmd/service $(SAVE)
bench-go: ; go test -run '^$$' -bench . -benchmem ./internal/...

.PHONY: lint
lint: $(LINT) ## golangci-lint, the word list of test/words, and shellcheck
	$(LINT) run ./...
	cd test/controlplane && $(LINT) run ./...
	cd packaging/generate && $(LINT) run ./...
	cd test/hypershift/generate && $(LINT) run ./...
	go run ./test/words
	$(MAKE) generate && git diff --exit-code -- deploy internal/api test/hypershift # they are generated
	shellcheck $$(git ls-files '*.sh' .ci | grep -v /payload/files/)

.PHONY: controlplane
controlplane: deps bed-control ## run the miniature control plane for manual tests, until Ctrl-C
	test/controlplane/run.sh

.PHONY: deps
deps: ## install what the test bed needs and this machine lacks (Debian; elsewhere it prints what)
	@test/deps.sh

.PHONY: oracle
oracle:
	@test/oracle/build.sh >/dev/null

.PHONY: bed-control
bed-control:
	@test/controlplane/build.sh >/dev/null

.PHONY: bed
bed: bed-control
	@test/image/build.sh >/dev/null

.PHONY: clean
clean: ## remove what was built here (the cache in ~/.cache/hcp-node-agent stays)
	rm -rf bin build

$(LINT):
	mkdir -p $(@D)
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.6.2
	mv $(@D)/golangci-lint $@

$(CONTROLLER_GEN):
	mkdir -p $(@D)
	GOBIN=$(@D) go install sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.1
	mv $(@D)/controller-gen $@

$(GOTESTSUM):
	mkdir -p $(@D)
	GOBIN=$(@D) go install gotest.tools/gotestsum@v1.13.0
	mv $(@D)/gotestsum $@

.PHONY: acceptance
acceptance: ## test the agent on a host of yours over ssh, and restore it: HOST=root@host USER_DATA=FILE [PACKAGE=RPM] [KUBECONFIG=FILE] [OPTIONS=...]
	go run ./test/acceptance -host '$(HOST)' -user-data '$(USER_DATA)' -package '$(PACKAGE)' -kubeconfig '$(KUBECONFIG)' \
		-join-options '$(OPTIONS)'

.PHONY: acceptance-vm
acceptance-vm: build bed-control ## the same in a virtual machine beside a test control plane, as root: IMAGE=FILE.qcow2 [OPTIONS='-ignition -prepare SCRIPT -packages RPM']
	go run ./test/vm/cmd/host -image '$(IMAGE)' $(OPTIONS)

.PHONY: rpm
rpm: ## the RPMs, and a repository of them, signed with KEY or a test key: build/rpm
	packaging/rpm/build.sh

.PHONY: test-rpm
test-rpm: ## build the RPMs twice, check them, and install, upgrade and remove them in an empty root, also from a web server
	test/rpm/test.sh

.PHONY: release
release: ## a release: the signed repository of the RPMs, tarballs, SBOMs, the image, checksums: build/release
	packaging/release.sh

.PHONY: release-admin
release-admin: ## hcp-node-admin as a plugin of kubectl for Linux and macOS, and its krew manifest: build/release
	packaging/release-admin.sh

.PHONY: image
image: ## the image of hcp-node-admin for amd64 and arm64, an OCI archive: build/image (needs buildah)
	packaging/image.sh build/image/hcp-node-admin_$(VERSION)_image.tar

.PHONY: test-release
test-release: ## build a release twice, compare the bytes, install from it, and check the SBOMs, the versions and the image
	test/release/test.sh
