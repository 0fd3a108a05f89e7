# `make demo` and `make test` do all the set-up on a fresh Debian 12 machine with a Rust toolchain.

SCENARIO ?= scenarios/demo.toml
OUT ?= out/demo
CLIP ?=
# Transfers by each scheme in the demo, fewer than the scenario has, to take two minutes; if it is
# empty, the scenario decides.
ROUNDS ?= $(if $(filter scenarios/demo.toml,$(SCENARIO)),16)
REPRODUCTION ?= out/reproduce-check
SEEDS ?= 22000
SEED ?=
COUNT ?= 200
# The files of `make media-race`, the runs of each, and the duration of their streams.
MEDIA ?= $(patsubst %,scenarios/media-%.toml,random fades outages congestion)
RUNS ?= 2
DURATION ?= 30 s
FORMAT ?=
# Packages and targets that `build` builds besides the program: built alone they have dependencies with
# other features, which are then compiled twice.
WITH ?=
# Seconds of fuzzing for each target.
FUZZ ?= 60
TARGET ?=
# Minutes of the soak; an hour is the whole of it.
MINUTES ?= 60
INPUT ?=
# The target directory of cargo (CARGO_TARGET_DIR or a configuration file); evaluated after set-up,
# when first needed.
BUILT = $(shell cargo metadata --no-deps --format-version 1 | jq -r .target_directory)
POLYPATH = $(BUILT)/release/polypath
# cargo for release builds, whose bytes then do not depend on the folder.
RELEASE = scripts/release.sh

DEB ?= out/deb
SBOM ?= out/polypath.cdx.json
# The last revision before the mends of what `make attack` shows.
BEFORE_MENDS = ee456c2

.PHONY: demo help test check reproduce bench race media-race bulk-race diversity-race tunnel-race failover stream-load stream-race stream-rates send-race departures attack soak faults models fuzz fuzz-build miri deb deploy-check recipes stream-recipes reproducible sbom instructions golden protocol structure setup build fmt clippy doc wasm licences dependencies advisories clean

demo: setup ## carry a media file over two bad paths by four schemes, and report the gain
	cargo build --profile demo --bin polypath
	@scripts/demo.sh "$(BUILT)/demo/polypath" "$(SCENARIO)" "$(OUT)" "$(CLIP)" "$(ROUNDS)"

help: ## these lines
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

test: setup ## all tests; those that lack privileges skip and print the reason
	@scripts/setup.sh tshark:tshark ristsender:rist-tools \
		|| echo "setup: continuing without tshark or rist-tools: tests that use them skip" >&2
	@scripts/test.sh

check: setup ## what CI runs: linters, docs, tests, guides, package, fuzzing, reproduction, ten minutes of soak
	@scripts/check.sh 10

reproduce: setup build ## reduced reproduction of the papers' claims and polypath's own; fails if one has no verdict, or differs without a reason
	@scripts/reproduce.sh "$(POLYPATH)" "$(REPRODUCTION)"

bench: setup build ## the figures of docs/BENCHMARKS.md
	$(RELEASE) bench --workspace --benches
	$(RELEASE) run --release --quiet -p polypath-lab --example link_accuracy

failover: setup ## outages of a flow over COUNT silences of its path, with a round trip of RTT ms: nodes against kernel MPTCP (15 min)
	@$(RELEASE) build --release --quiet -p polypath-lab --example failover
	@"$(BUILT)/release/examples/failover" --count $(COUNT) --seed $(or $(SEED),1) $(if $(RTT),--rtt $(RTT)) $(if $(FORMAT),--format $(FORMAT))

race: setup ## speed of the simulator against ns-2 (from Debian)
	@scripts/setup.sh ns:ns2 bc:bc /usr/bin/time:time
	$(RELEASE) build --release --quiet -p polypath-sim --example race
	@scripts/race.sh "$(BUILT)/release/examples/race"

media-race: setup ## media over emulated links by polypath, SRT, RIST, MPTCP, TCP and UDP, RUNS times for each file of MEDIA; finished runs are kept (10 min)
	@scripts/setup.sh ristsender:rist-tools
	@$(RELEASE) build --release --quiet -p polypath-lab --example media_race
	@srt=$$(scripts/srt.sh) && PATH="$$(dirname "$$srt"):$$PATH" "$(BUILT)/release/examples/media_race" \
		--seeds $(RUNS) --duration "$(DURATION)" $(if $(FORMAT),--format $(FORMAT)) $(MEDIA)

bulk-race: setup ## goodput of one TCP flow over two paths: nodes against kernel MPTCP and the simulator, RUNS transfers each (30 min)
	@$(RELEASE) build --release --quiet -p polypath-lab --example bulk_race
	@"$(BUILT)/release/examples/bulk_race" $(if $(filter command%,$(origin RUNS)),--runs $(RUNS)) --seed $(or $(SEED),1) $(if $(FORMAT),--format $(FORMAT))

diversity-race: setup build ## 1 to 50 downloads by the kernel's TCP over links that fade and congest: one link, copies, and marks, three times each, beside four of the simulator (40 min)
	@"$(POLYPATH)" reproduce diversity.tcp --full --lab $(if $(FORMAT),--format $(FORMAT))

tunnel-race: setup build ## throughput of the tunnel against wireguard-go (from Debian) and the revision BASE, alternating (10 min)
	@scripts/setup.sh wireguard-go:wireguard-go
	$(RELEASE) build --release --quiet -p polypath-lab --example tunnel_race
	@before=$(if $(BASE),$$(scripts/build-revision.sh "$(BASE)")) \
		&& "$(BUILT)/release/examples/tunnel_race" --program "$(POLYPATH)" $${before:+--before "$$before"} \
			$(if $(POLICY),--policy $(POLICY))

stream-load: setup build ## 200 receivers of one server on one core, beside nginx (from Debian) serving the same (2 min)
	@scripts/setup.sh nginx:nginx-light
	@$(RELEASE) build --release --quiet -p polypath-lab --example stream_load
	@"$(BUILT)/release/examples/stream_load" "$(POLYPATH)" $(if $(FORMAT),--format $(FORMAT))

stream-race: setup ## a minute of live MPEG-TS by ffmpeg beside 15 transfers: five connections against one TCP (2 min)
	@$(RELEASE) build --release --quiet -p polypath-lab --example stream_race
	@"$(BUILT)/release/examples/stream_race" live --seed $(or $(SEED),1) $(if $(FORMAT),--format $(FORMAT))

stream-rates: setup ## the measured rate of streams over wanted rates and round-trip times (10 min)
	@$(RELEASE) build --release --quiet -p polypath-lab --example stream_race
	@"$(BUILT)/release/examples/stream_race" rates --seed $(or $(SEED),1) $(if $(FORMAT),--format $(FORMAT))

send-race: setup build ## live MPEG-TS by ffmpeg over a gateway with a queue of ten packets: as it comes, and by each spacing (4 min)
	@$(RELEASE) build --release --quiet -p polypath-lab --example send_race
	@"$(BUILT)/release/examples/send_race" "$(POLYPATH)" $(if $(filter command%,$(origin RUNS)),--runs $(RUNS)) --seed $(or $(SEED),1) $(if $(FORMAT),--format $(FORMAT))

departures: setup ## when spaced datagrams leave, beside those of a loop that sleeps and calls sendto (2 min)
	@$(RELEASE) build --release --quiet -p polypath-lab --example departures
	@"$(BUILT)/release/examples/departures"

attack: setup build ## attack two nodes with floods, replays and slow clients, beside the program of BASE and wireguard-go (10 min)
	@scripts/setup.sh wireguard-go:wireguard-go
	$(RELEASE) build --release --quiet -p polypath-lab --example attack
	@scripts/attack.sh "$(BUILT)/release/examples/attack" "$(POLYPATH)" "$(BEFORE_MENDS)" "$(BASE)" $(if $(FORMAT),--format $(FORMAT))

soak: setup build ## two nodes for MINUTES at half load: every packet must arrive, and memory must not grow
	$(RELEASE) build --release --quiet $(if $(WITH),-p polypath -p polypath-wrap $(WITH),-p polypath-lab --example soak)
	@"$(BUILT)/release/examples/soak" "$(POLYPATH)" $(MINUTES)

instructions: setup ## instructions of the simulator's hot path (callgrind) against the bounds of scripts/instructions.txt
	env -u CARGO_PROFILE_RELEASE_LTO -u CARGO_PROFILE_RELEASE_CODEGEN_UNITS \
		$(RELEASE) build --release --quiet -p polypath-sim --example race
	@scripts/instructions.sh "$(BUILT)/release/examples/race" $(RENEW)

structure: setup ## counts of files, import circles, unnamed tuples and words, against their bounds; LIST=circles for the places
	@scripts/setup.sh python3:python3
	@scripts/structure.py $(if $(LIST),--list $(LIST),$(STRUCTURE))

protocol: setup ## verify the test vectors of docs/protocol.md with a second implementation; RENEW=--renew writes them
	$(if $(RENEW),RENEW_PROTOCOL_VECTORS=1 cargo test --quiet -p polypath-session --lib file_of_vectors)
	@scripts/setup.sh python3:python3
	@python3 -c 'import cryptography' 2>/dev/null \
		|| scripts/setup.sh python3-cryptography:python3-cryptography
	@python3 crates/session/vectors/check.py $(VERBOSE)

golden: setup build ## compare the traces of every scenario with validation/golden.txt, or with the revision BASE
	@scripts/golden.sh "$(POLYPATH)" $(if $(BASE),--base $(BASE),$(RENEW))

faults: setup ## nodes and streams under SEEDS fault schedules each, or one of SEED or STREAM_SEED with all events
	cargo build --profile faults --quiet -p polypath-faults
ifdef STREAM_SEED
	@"$(BUILT)/faults/faults" --streams --seed $(STREAM_SEED)
else ifdef SEED
	@"$(BUILT)/faults/faults" --seed $(SEED)
else
	@"$(BUILT)/faults/faults" --seeds $(SEEDS)
	@"$(BUILT)/faults/faults" --seeds $(SEEDS) --streams
endif

models: setup ## check the models of the session protocol (models/README.md); MODELS=--reduced as in CI, or --deep
	@scripts/setup.sh python3:python3
	@scripts/models.sh "$(BUILT)" out/models $(MODELS)

fuzz: setup ## fuzz every parser and server, FUZZ seconds each, or run the file INPUT in TARGET; KEEP=keep extends the corpora
	@scripts/setup.sh c++:g++
	@scripts/fuzz.sh "$(BUILT)/fuzz" $(FUZZ) $(if $(INPUT),$(TARGET) $(INPUT),$(KEEP))

fuzz-build: setup ## build the targets of `make fuzz`
	@scripts/setup.sh c++:g++
	@scripts/fuzz.sh "$(BUILT)/fuzz" $(FUZZ) build

miri: setup ## tests of `unsafe` code, buffers and parsers under Miri, which finds undefined behaviour
	@scripts/miri.sh "$(BUILT)/miri"

deploy-check: setup build ## run every command of docs/deploy.md and docs/two-nodes.md in namespaces: two sites, a relay, a NAT
	@scripts/setup.sh nft:nftables python3:python3 curl:curl pkill:procps
	@scripts/guide.sh deploy-check "$(POLYPATH)" docs/deploy.md 180
	@scripts/guide.sh two-nodes "$(POLYPATH)" docs/two-nodes.md 90

# The plugins among them are found by the folders of their packages.
RECIPE_PACKAGES = ffplay:ffmpeg gst-launch-1.0:gstreamer1.0-tools vlc:vlc-bin \
	srt-live-transmit:srt-tools obs:obs-studio \
	xvfb-run:xvfb xauth:xauth setpriv:util-linux nft:nftables python3:python3 \
	$(foreach package,gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad \
		vlc-plugin-base vlc-plugin-access-extra libgl1-mesa-dri,/usr/share/doc/$(package):$(package))

recipes: setup ## try each recipe of docs/media-recipes.md with ffmpeg, GStreamer, VLC and OBS from Debian (8 min)
	@scripts/setup.sh $(RECIPE_PACKAGES)
	cargo build --profile demo --bin polypath
	@scripts/guide.sh recipes "$(BUILT)/demo/polypath" docs/media-recipes.md 900 recipe:

stream-recipes: setup ## try each recipe of docs/stream-recipes.md with ffmpeg, GStreamer, VLC and OBS from Debian (4 min)
	@scripts/setup.sh $(RECIPE_PACKAGES)
	cargo build --profile demo --bin polypath
	@scripts/guide.sh stream-recipes "$(BUILT)/demo/polypath" docs/stream-recipes.md 600 recipe:

deb: setup build ## build a Debian package of the program in DEB
	@scripts/setup.sh python3:python3 objcopy:binutils
	@scripts/deb.sh "$(POLYPATH)" "$(DEB)"
	@scripts/release-check.sh "$(POLYPATH)" "$(DEB)"

reproducible: setup ## build the package of HEAD twice, in different folders and environments, and compare the bytes
	@scripts/reproducible.sh

sbom: setup build ## write the bill of materials (CycloneDX) of the program to SBOM
	@scripts/setup.sh python3:python3
	@mkdir -p "$(dir $(SBOM))"
	@SOURCE_DATE_EPOCH=$$(scripts/source-date.sh) scripts/sbom.py "$(POLYPATH)" >"$(SBOM)"

setup: ## install missing packages
	@scripts/setup.sh

build:
	$(RELEASE) build --release -p polypath -p polypath-wrap $(WITH)

fmt:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets --quiet -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

wasm: ## build the pure crates for wasm32, without an operating system
	cargo build --quiet --target wasm32-unknown-unknown \
	  -p polypath-core -p polypath-document -p polypath-link -p polypath-sim -p polypath-scenario -p polypath-report

licences:
	@scripts/licences.sh

dependencies: setup ## compare docs/dependencies.md with the workspace; RENEW=--renew writes what follows from the sources
	@scripts/setup.sh python3:python3
	@scripts/dependencies.py $(RENEW)

advisories: setup ## yanked versions and known vulnerabilities of the dependencies, where the databases can be reached
	@scripts/advisories.sh "$(BUILT)"

clean:
	cargo clean
	rm -rf out
