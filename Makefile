# hcp-node-agent. `make help` lists the targets.

VERSION ?= $(or $(shell packaging/version.sh),$(error packaging/version.sh failed))
HCP_BED_CACHE ?= $(HOME)/.cache/hcp-node-agent
EXECS ?= 1500000
# How many lanes of test-vm run at a time. A lane uses one core; emulated machines that share cores are several times
# slower, and then fail by their own timeouts.
JOBS ?= 2
# The kinds of uplink that test-vm tests, beside the IPv4 uplinks of the other lanes; test-network tests all.
QUICK_KINDS ?= vlan-on-bond
# $(call tests_of,LANES,KINDS) returns the tests of these lanes and kinds as a pattern for go test -run.
LANES_FILE = test/vm/lanes.txt
tests_of = ^($(subst $(space),|,$(or $(strip $(shell awk -v lanes=' $(1) ' -v kinds='$(2)' \
	'!/^\#/ && index(lanes, " " $$2 " ") && index(kinds, $$3) {print $$1}' $(LANES_FILE))),\
	$(error $(LANES_FILE) has no test of lane $(1) and kind $(2)))))$$
# Tests of the kind slow run only with THOROUGH=1, as test-all sets it.
TEST_KINDS = quick$(if $(THOROUGH), slow)
LINT = $(HCP_BED_CACHE)/tools/golangci-lint-v2.6.2
CONTROLLER_GEN = $(HCP_BED_CACHE)/tools/controller-gen-v0.20.1
GOTESTSUM = $(HCP_BED_CACHE)/tools/gotestsum-v1.13.0
# Package by package, the failures whole, no list of skipped tests: the last summary has it.
RUN_TESTS = $(GOTESTSUM) --format pkgname-and-test-fails --format-icons text --hide-summary skipped
RESULTS = $(CURDIR)/build/test
# The tests with real peers and those that inject faults into system calls, by the build constraints of their files.
REAL_TAGS = controlplane differential faults rpm shells
REAL_FILES = $(or $(shell git grep -lE '^//go:build ($(subst $(space),|,$(REAL_TAGS)))$$' -- '*_test.go'),$(error no test file has a tag of REAL_TAGS))
REAL_TESTS = $(subst $(space),|,$(filter-out TestMain,$(shell grep -hoE '^func Test[A-Z][A-Za-z0-9]*' $(REAL_FILES) | cut -c6-)))
space := $() $()

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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
generate: $(CONTROLLER_GEN) ## generate deploy/hosted-base/crd.yaml and the methods of the API's types
	$(CONTROLLER_GEN) object paths=./internal/api/...
	$(CONTROLLER_GEN) crd paths=./internal/api/... output:crd:stdout >deploy/hosted-base/crd.yaml

.PHONY: formats
formats: ## write the stored documents of the next release to test/compatibility/testdata
	go test -count 1 -run '^TestFormat' ./test/compatibility ./internal/enrollment ./internal/ledger/resource \
		./internal/ovs/migrate ./internal/software/osimage -update

.PHONY: demo
demo: deps build bed ## from nothing to a Ready node with a running pod, on this machine
	go run ./test/demo

.PHONY: demo-svg
demo-svg: deps build bed ## the same, and record the join in docs/demo.svg
	go run ./test/demo -record docs/demo.svg

.PHONY: test
test: deps bed-control oracle $(GOTESTSUM) ## unit, table and golden tests, the seeds of the fuzz targets, the real Ignition, a real control plane; prints what was skipped
	@rm -rf $(RESULTS) && mkdir -p $(RESULTS)
	$(MAKE) -j2 --output-sync=target test-unit test-real
	@$(GOTESTSUM) --format none --raw-command -- cat $(RESULTS)/unit.json $(RESULTS)/real.json $(RESULTS)/controlplane.json

# The tests with real peers mostly wait, so they run beside the others, which need the processor.
.PHONY: test-unit test-real
test-unit:
	CGO_ENABLED=1 $(RUN_TESTS) --jsonfile $(RESULTS)/unit.json -- $(TEST_FLAGS) -race ./...
test-real:
	$(RUN_TESTS) --jsonfile $(RESULTS)/real.json -- $(TEST_FLAGS) -tags '$(REAL_TAGS)' -count=1 -p 2 -run '^($(REAL_TESTS))$$' $(addprefix ./,$(sort $(dir $(REAL_FILES))))
	cd test/controlplane && $(RUN_TESTS) --jsonfile $(RESULTS)/controlplane.json -- $(TEST_FLAGS) ./...

.PHONY: test-vm
test-vm: deps build bed ## end-to-end tests in virtual machines: life of a node, RHCOS, OVN-Kubernetes, migration to br-ex and back, faults
	$(MAKE) -j$(JOBS) --output-sync=target $(LANES)

# Each lane has a machine and, except for the network, a control plane of its own. The longest come first.
# Their output is in build/lane-*.log while they run. LIMIT is the timeout of go test.
LIMIT = $(if $(THOROUGH),8h,60m)
LANES = lane-coreos lane-ovn lane-node lane-network $(BESIDE)
TO_LOG = mkdir -p build && exec >build/$@.log 2>&1
SHOW_LOG = status=$$?; cat build/$@.log; exit $$status
TEST_VM = go test $(TEST_FLAGS) -tags vm -count=1 -v

.PHONY: $(LANES) lane-machine lane-image lane-install lane-bootc lane-events lane-fleet
lane-bootc lane-coreos: export HOST_CLASS = $(@:lane-%=%)
lane-install lane-node lane-events lane-bootc lane-coreos:
	@($(TO_LOG); LANE=-$(@:lane-%=%) $(TEST_VM) -timeout $(LIMIT) \
		-run '$(call tests_of,$(@:lane-%=%),$(TEST_KINDS))' ./test/vm/e2e); $(SHOW_LOG)
lane-network: # TestUplinks for QUICK_KINDS only
	@($(TO_LOG); KINDS="$(QUICK_KINDS)" $(TEST_VM) -timeout 40m -run '^TestUplinks$$' ./test/vm/network && \
		KINDS= $(TEST_VM) -timeout 40m -run '$(call tests_of,network,quick)' -skip '^TestUplinks$$' ./test/vm/network); $(SHOW_LOG)
lane-ovn:
	@($(TO_LOG); THOROUGH=$(THOROUGH) $(TEST_VM) -timeout $(LIMIT) \
		-run '$(call tests_of,ovn,$(TEST_KINDS))' ./test/vm/ovn); $(SHOW_LOG)
lane-fleet:
	@($(TO_LOG); $(TEST_VM) -timeout $(LIMIT) -run '$(call tests_of,fleet,quick slow)' ./test/vm/fleet); $(SHOW_LOG)
lane-machine:
	@($(TO_LOG); $(TEST_VM) -timeout 20m -run '$(call tests_of,machine,$(TEST_KINDS))' ./test/vm); $(SHOW_LOG)
lane-image:
	@($(TO_LOG); $(TEST_VM) -timeout $(LIMIT) -run '$(call tests_of,image,quick slow)' ./test/vm/ostree); $(SHOW_LOG)

.PHONY: test-all
test-all: export THOROUGH = 1
test-all: test fuzz test-rpm test-vm lane-install lane-bootc lane-events lane-fleet lane-machine lane-image test-network ## everything, for hours

.PHONY: test-ovn
test-ovn: deps build bed lane-ovn ## join, traffic, upgrade and leave with the real OVN-Kubernetes (THOROUGH=1: also another release of Kubernetes, kills, reboot, second join)

.PHONY: test-fleet
test-fleet: deps build bed lane-fleet ## three machines: install the controller, enroll them, join them, upgrade them with their NodePool, and back

.PHONY: test-network
test-network: deps build bed ## every kind of uplink, and faults (KINDS="dhcp4 vlan" picks; THOROUGH=1 tries every fault at every part)
	$(TEST_VM) -p 1 -timeout 8h -run '$(call tests_of,network,quick slow)' ./test/vm/lab ./test/vm/network

.PHONY: soak
soak: deps build bed ## power cuts and kills at random moments of join, upgrade, rollback and leave (RUNS, SEED), and of the network migration (KINDS, REBOOTS, CUTS)
	LANE=-soak $(TEST_VM) -p 1 -timeout 24h -run '$(call tests_of,node network,soak)' ./test/vm/e2e ./test/vm/network

.PHONY: fuzz
fuzz: oracle ## every fuzz target in turn, each for EXECS inputs
	EXECS=$(EXECS) test/fuzz.sh

.PHONY: bench
bench: deps build bed oracle ## the figures: apply beside the real Ignition, the interruption by a migration to br-ex and by configure-ovs.sh, the controller with up to 1,000 nodes, the cost of the service, the Go benchmarks
	go run ./test/differential/bench bin/hcp-node-agent
	go run ./test/vm/cmd/interruption
	go run ./test/fleet bin/hcp-node-admin
	go run ./test/vm/cmd/service
	go test -run '^$$' -bench . -benchmem ./internal/...

.PHONY: lint
lint: $(LINT) ## golangci-lint, the word list of test/words, and shellcheck
	$(LINT) run ./...
	cd test/controlplane && $(LINT) run ./...
	go run ./test/words
	$(MAKE) generate && git diff --exit-code -- deploy/hosted-base/crd.yaml internal/api # they are generated
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
