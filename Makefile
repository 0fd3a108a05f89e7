# `make demo` and `make test` do all the set-up on a fresh Debian 12 machine with a Rust toolchain.

SCENARIO ?= scenarios/demo.toml
OUT ?= out/demo
CLIP ?=
REPRODUCTION ?= out/reproduce-check
SEEDS ?= 10000
SEED ?=
COUNT ?= 200
FORMAT ?=
# Seconds of fuzzing for each target.
FUZZ ?= 60
TARGET ?=
# Minutes of the soak; an hour is the whole of it.
MINUTES ?= 60
INPUT ?=
# Where cargo puts it, by CARGO_TARGET_DIR or a configuration file; asked when it is needed, after set-up.
BUILT = $(shell cargo metadata --no-deps --format-version 1 | jq -r .target_directory)
POLYPATH = $(BUILT)/release/polypath

DEB ?= out/deb

.PHONY: demo test check reproduce bench race tunnel-race failover soak faults fuzz fuzz-build deb deploy-check instructions golden structure setup build fmt clippy doc wasm licences clean

demo: setup build ## carry a media file four ways over two bad paths, and show what that gained
	@scripts/demo.sh "$(POLYPATH)" "$(SCENARIO)" "$(OUT)" "$(CLIP)"

test: setup ## all tests; those that need privileges skip, with the reason, where there are none
	@scripts/setup.sh tshark:tshark \
		|| echo "setup: going on without tshark: the tests that read captures with it skip" >&2
	@scripts/test.sh

check: setup ## what CI runs: linters, docs, tests, guides, package, fuzzing, reproduction, ten minutes of soak
	@scripts/check.sh 10

reproduce: setup build ## the claims of the papers in the reduced form; each has to have a verdict, and a reason if it differs
	@scripts/reproduce.sh "$(POLYPATH)" "$(REPRODUCTION)"

bench: setup build ## the figures of docs/BENCHMARKS.md
	cargo bench --workspace --benches
	cargo run --release --quiet -p polypath-lab --example link_accuracy

failover: setup ## outages of a flow over COUNT silences of its path: two nodes against kernel MPTCP, in a quarter of an hour
	@cargo build --release --quiet -p polypath-lab --example failover
	@"$(BUILT)/release/examples/failover" --count $(COUNT) --seed $(or $(SEED),1) $(if $(FORMAT),--format $(FORMAT))

race: setup ## the simulator against ns-2, which is installed from Debian
	@scripts/setup.sh ns:ns2 bc:bc /usr/bin/time:time
	cargo build --release --quiet -p polypath-sim --example race
	@scripts/race.sh "$(BUILT)/release/examples/race"

tunnel-race: setup ## an encrypted tunnel between two namespaces against wireguard-go, which is installed from Debian, in turn
	@scripts/setup.sh wireguard-go:wireguard-go
	cargo run --release --quiet -p polypath-lab --example tunnel_race

soak: setup build ## two nodes for MINUTES at half load: every packet arrives, and the memory does not grow
	cargo build --release --quiet -p polypath-lab --example soak
	@"$(BUILT)/release/examples/soak" "$(POLYPATH)" $(MINUTES)

instructions: setup ## what the simulator's hot path costs, by callgrind, against the bounds of scripts/instructions.txt
	cargo build --release --quiet -p polypath-sim --example race
	@scripts/instructions.sh "$(BUILT)/release/examples/race" $(RENEW)

structure: setup ## counts of files, import circles, unnamed tuples and words, against their bounds; LIST=circles for the places
	@scripts/setup.sh python3:python3
	@scripts/structure.py $(if $(LIST),--list $(LIST),$(STRUCTURE))

golden: setup build ## traces of every scenario, to the byte those of validation/golden.txt, or of the revision BASE
	@scripts/golden.sh "$(POLYPATH)" $(if $(BASE),--base $(BASE),$(RENEW))

faults: setup ## two whole nodes through SEEDS schedules of faults, or through that of SEED with all that happens
	cargo build --profile faults --quiet -p polypath-faults
	@"$(BUILT)/faults/faults" $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

fuzz: setup ## all that reads what others wrote, FUZZ seconds for each target, or the file INPUT again in TARGET; KEEP=keep keeps what was found
	@scripts/setup.sh c++:g++
	@scripts/fuzz.sh "$(BUILT)/fuzz" $(FUZZ) $(if $(INPUT),$(TARGET) $(INPUT),$(KEEP))

fuzz-build: setup ## the programs of `make fuzz`
	@scripts/setup.sh c++:g++
	@scripts/fuzz.sh "$(BUILT)/fuzz" $(FUZZ) build

deploy-check: setup build ## every command of docs/deploy.md: two sites, a relay, a NAT, in namespaces
	@scripts/setup.sh nft:nftables python3:python3
	@scripts/deploy-check.sh "$(POLYPATH)"

deb: setup build ## a Debian package of the program, in DEB
	@scripts/deb.sh "$(POLYPATH)" "$(DEB)"

setup: ## install what is missing
	@scripts/setup.sh

build:
	cargo build --release --bin polypath

fmt:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets --quiet -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

wasm: ## the pure crates build where no operating system exists
	cargo build --quiet --target wasm32-unknown-unknown \
	  -p polypath-core -p polypath-document -p polypath-link -p polypath-sim -p polypath-scenario -p polypath-report

licences:
	@scripts/licences.sh

clean:
	cargo clean
	rm -rf out
