# Every target works as the first command after a clone: it installs the Debian packages it needs
# (packaging/install-needs prints nothing if they are there), builds its programs, and runs. `make
# help` lists the targets.

PERL      ?= perl
CARGO     ?= $(or $(shell command -v cargo),$(wildcard $(HOME)/.cargo/bin/cargo),cargo)
CARGO_FLAGS ?= --locked
LISTEN    ?= 127.0.0.1:8080
PREFIX    ?= /usr/local

# All cargo runs share one target directory; the absolute path is valid in every subdirectory.
TARGET    := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
RELEASE   := $(TARGET)/release/mehari
DEBUG     := $(TARGET)/debug/mehari

.DEFAULT_GOAL := build
.PHONY: build serve test fresh perls kernels sanitize programs random-sites check peers fuzz soak manual docs install deb packages image portable own cross install-program clean help perl debug rust

build: rust ## build target/release/mehari and the Perl side of a worker
	@packaging/install-needs build
	@$(MAKE) --no-print-directory perl
	$(CARGO) build --release $(CARGO_FLAGS) -p mehari

serve: ## serve demo/ on http://127.0.0.1:8080/ (LISTEN=host:port for another place), beside this machine's Apache if it has mod_perl
	@packaging/install-needs build demo
	@$(MAKE) --no-print-directory build
	exec $(PERL) demo/lib/serve $(RELEASE) serve -f demo/mehari.conf --listen $(LISTEN)

test: ## run everything that must hold; the last line is `N passed, N failed, N skipped`
	@packaging/install-needs build demo test $(if $(CI),ci)
	@packaging/install-axe $(TARGET)
	@$(MAKE) --no-print-directory debug
	MEHARI_BIN="$${MEHARI_BIN:-$(DEBUG)}" CARGO="$(CARGO)" CARGO_FLAGS="$(CARGO_FLAGS)" $(PERL) tests/all

fresh: rust ## the two commands of README.md in new minimal Debian roots (SUITES="bookworm trixie")
	@packaging/install-needs fresh
	$(PERL) tests/fresh $(or $(SUITES),bookworm trixie)

perls: rust ## the Perl side and the rungs with perl 5.32 to 5.42, in minimal Debian roots (ROOTS="bullseye sid unthreaded ...")
	@packaging/install-needs fresh
	$(PERL) tests/perls $(ROOTS)

kernels: rust ## the rung rewind on the kernels of Debian 12 and 13, in virtual machines that qemu emulates (GUESTS="bookworm-never trixie ...")
	@packaging/install-needs fresh kernels
	$(PERL) tests/kernels $(GUESTS)

sanitize: ## run what finds undefined behaviour: the XS under sanitizers and a debugging perl (SUITES="asan debugging miri tsan")
	@packaging/install-needs build test sanitize
	@$(MAKE) --no-print-directory debug
	MEHARI_BIN="$${MEHARI_BIN:-$(DEBUG)}" CARGO="$(CARGO)" CARGO_FLAGS="$(CARGO_FLAGS)" tests/sanitize/run $(SUITES)

programs: ## run the real programs, those too that need a database server (minutes): Apache + mod_perl is what they are compared with
	@packaging/install-needs build programs
	@$(MAKE) --no-print-directory debug
	MEHARI_BIN="$${MEHARI_BIN:-$(DEBUG)}" $(CARGO) test $(CARGO_FLAGS) -p mehari-tests --test programs -- --include-ignored

random-sites: ## serve sites made at random here and with Apache + mod_perl, and show each answer that differs (COUNT=20 SEED=1)
	@packaging/install-needs build test
	@$(MAKE) --no-print-directory debug
	MEHARI_BIN="$${MEHARI_BIN:-$(DEBUG)}" $(PERL) tests/random_sites $(or $(COUNT),20) $(SEED)

check: rust ## formatting and clippy, no warnings allowed
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings

peers: ## measure Mehari beside Apache + mod_perl, Starman, uWSGI, Feersum, nginx and lighttpd (PEERS="--only registry")
	@packaging/install-needs build peers
	@$(MAKE) --no-print-directory build
	@mkdir -p peers/results
	$(PERL) peers/run --mehari $(RELEASE) --json peers/results/latest.json $(PEERS)

# Endless by nature: SECONDS gives the length of each.
fuzz: ## feed the parsers and a live server with broken input (SECONDS=600)
	@packaging/install-needs build
	@$(MAKE) --no-print-directory debug
	MEHARI_BIN="$${MEHARI_BIN:-$(DEBUG)}" CARGO="$(CARGO)" fuzz/run $(or $(SECONDS),600)

soak: build ## load a server for long: watch its memory; then reload, kill and upgrade it; then the isolation corpus (SUITES="soak handover corpus" SECONDS=3600)
	for suite in $(or $(SUITES),soak handover corpus); do \
		MEHARI_BIN=$(RELEASE) CARGO="$(CARGO)" CARGO_FLAGS="$(CARGO_FLAGS)" tests/$$suite $(or $(SECONDS),3600) || exit 1; \
	done

manual: build ## write the manual pages and the completions of bash, zsh and fish to target/manual
	$(RELEASE) manual $(TARGET)/manual

docs: build ## write the documents as a site to target/site; open index.html there, or run mehari docs
	rm -rf $(TARGET)/site
	$(RELEASE) docs -o $(TARGET)/site

# The Perl modules go into $(PERL)'s own folders (INSTALLDIRS=site, or vendor for a package). Their
# sources stand below SHARE, for other perls.
INSTALLDIRS ?= site
SHARE = $(DESTDIR)$(PREFIX)/share/mehari
UNITS = $(DESTDIR)$(PREFIX)/lib/systemd/system
DOCS  = $(DESTDIR)$(PREFIX)/share/doc/mehari
install: install-program ## copy the program, its Perl side, manual, units and documents below PREFIX (/usr/local; DESTDIR for a package)
	$(PERL) perl/build.pl --install INSTALLDIRS=$(INSTALLDIRS) $(if $(DESTDIR),DESTDIR="$(abspath $(DESTDIR))")

# Everything but the modules in the folders of a perl.
install-program:
	@[ -x $(RELEASE) ] || { echo "Nothing is built yet: run make build first, as the user who has Rust." >&2; exit 1; }
	install -D -m 755 $(RELEASE) $(DESTDIR)$(PREFIX)/bin/mehari
	install -d $(UNITS) $(DOCS) $(SHARE)/perl
	for unit in mehari.service mehari.socket; do sed 's|/usr/local/|$(PREFIX)/|g' packaging/systemd/$$unit >$(UNITS)/$$unit && chmod 644 $(UNITS)/$$unit || exit 1; done
	install -m 644 README.md ARCHITECTURE.md CHANGELOG.md LICENSE packaging/INSTALL.md $(DOCS)
	find docs examples -type f -exec install -D -m 644 {} $(DOCS)/{} \;
	$(RELEASE) manual $(DESTDIR)$(PREFIX)/share
	tar -C perl --exclude=./build --exclude=./t -cf - . | tar -C $(SHARE)/perl --no-same-owner -xf -

# ARCH is Debian's name of a processor. The program and the packages for another one than this
# machine's are cross-built, and their tests run under emulation.
NATIVE  = $(shell dpkg --print-architecture)
ARCH    = $(NATIVE)
MACHINE = $(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(ARCH)))
CROSS   = $(filter-out $(NATIVE),$(ARCH))

deb: ## Debian packages for Debian 12 and 13, each built in a new minimal root, in target/packages (SUITES="bookworm trixie" ARCH=arm64)
	@packaging/install-needs fresh packages
	@$(MAKE) --no-print-directory $(if $(CROSS),cross,build)
	$(PERL) packaging/build-deb $(if $(CROSS),$(TARGET)/portable/$(MACHINE)-unknown-linux-gnu/release/mehari,$(RELEASE)) $(TARGET)/packages $(or $(SUITES),bookworm trixie)

packages: deb ## install, run, upgrade, remove and purge the packages of `make deb` in new minimal Debian roots (SUITES=... ARCH=arm64)
	$(PERL) tests/packages $(TARGET)/packages $(ARCH) $(or $(SUITES),bookworm trixie)

portable: rust ## a program for glibc 2.28 or newer (Debian 10, RHEL 8) with the sources of its Perl side, in target/packages; runs it in a root of bullseye (SUITES=... ARCH=arm64)
	@packaging/install-needs build fresh portable
	@$(MAKE) --no-print-directory $(if $(CROSS),cross,own)
	$(PERL) tests/portable $(TARGET)/packages/mehari-*-linux-$(MACHINE).tar.gz $(or $(SUITES),bullseye)

# The portable archive for this machine's processor, and for another one.
own:
	packaging/build-portable "$(CARGO)" $(TARGET)
cross: rust
	@packaging/install-needs build fresh portable cross
	$(PERL) packaging/build-cross $(TARGET) $(ARCH)

IMAGE_SUITE ?= bookworm
image: build ## an OCI image of Debian 12 in target/image, made without a container program, and its test
	@packaging/install-needs fresh packages image
	$(PERL) packaging/build-deb $(RELEASE) $(TARGET)/packages $(IMAGE_SUITE)
	$(PERL) packaging/build-image $(TARGET)/packages $(TARGET)/image $(IMAGE_SUITE)
	$(PERL) tests/image $(TARGET)/image

clean: ## remove what was built
	$(CARGO) clean
	rm -rf perl/build

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name what; do printf '  make %-8s %s\n' "$$name" "$$what"; done

# The Perl modules, built once for $(PERL) and kept under perl/build/.
perl:
	@$(PERL) perl/build.pl >/dev/null

# The tests run the debug binary: it checks overflow and its own assertions, and needs no second
# build of every crate.
debug: rust perl
	$(CARGO) build $(CARGO_FLAGS) -p mehari

rust:
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing: install it from https://rustup.rs and run make again." >&2; exit 1; }
